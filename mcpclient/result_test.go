package mcpclient

import (
	"strings"
	"testing"

	"github.com/cupule/cupule/registry"
)

// TestNewResult judges what a tool may answer with.
func TestNewResult(t *testing.T) {
	for in, want := range map[string]string{
		`{"content":[]}`:                           "",
		`{"content":[],"isError":true}`:            "",
		`{"content":[],"isError":false}`:           "",
		`{"structuredContent":{"a":1}}`:            "",
		`{"content":[],"structuredContent":null}`:  "",
		`{"content":[],"requestState":"x"}`:        "",
		`{}`:                                       "neither content nor structuredContent",
		`{"isError":true}`:                         "neither content nor structuredContent",
		`{"Content":[],"tools":[]}`:                "neither content nor structuredContent",
		`{"content":{}}`:                           "a content that is no array",
		`{"content":"text"}`:                       "a content that is no array",
		`{"content":null}`:                         "a content that is no array",
		`{"content":[],"isError":"false"}`:         "an isError that is no boolean",
		`{"content":[],"isError":null}`:            "an isError that is no boolean",
		`{"inputRequests":[]}`:                     "input_required",
		`{"structuredContent":1,"requestState":1}`: "input_required",
	} {
		m := parse([]byte(`{"jsonrpc":"2.0","id":1,"result":` + in + `}`))
		r, err := newResult(m.result, m.shape)
		if want == "" {
			if err != nil || string(r.Raw) != in || r.IsError != strings.Contains(in, `"isError":true`) {
				t.Errorf("%s: %+v %v", in, r, err)
			}
			continue
		}
		if e := wantKind(t, err, registry.KindUpstreamError, registry.Completed); !strings.Contains(e.Message, want) {
			t.Errorf("%s: %v", in, e)
		}
	}
}

// TestTyped decodes results that are right, and says so of those that are not.
func TestTyped(t *testing.T) {
	r := &Result{Raw: []byte(`{"content":[{"type":"text","text":"a"}],"structuredContent":{"n":1}}`)}
	if typed, err := r.Typed(); err != nil || len(typed.Content) != 1 {
		t.Errorf("%+v %v", typed, err)
	}
	for _, raw := range []string{`{"content":[{"type":"nonsense"}]}`, `{"content":[7]}`} {
		if typed, err := (&Result{Raw: []byte(raw)}).Typed(); err == nil || !strings.Contains(err.Error(), "can't be read") {
			t.Errorf("%s: %+v %v", raw, typed, err)
		}
	}
}
