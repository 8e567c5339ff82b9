package mcptest

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestScriptSurvivesItsArgument(t *testing.T) {
	want := Good().With(
		Fault{At: CallTool, Do: Late, Tool: "echo", Skip: 1, Times: 2, Delay: time.Second, JSON: TextContent("<&>")})
	want.Life = time.Hour
	_, args := want.Command()
	got, err := unpack(strings.TrimPrefix(args[0], childFlag))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestScriptsThatMakeNoSense(t *testing.T) {
	for _, tt := range []struct {
		script Script
		media  media
		want   string
	}{
		{Script{Faults: []Fault{{At: Start, Do: "dance"}}}, stdio, `mcptest: fault 0: there is no behaviour "dance"`},
		{Script{Faults: []Fault{{At: Start, Do: IgnoreEOF}}}, overHTTP, `mcptest: fault 0: "ignore-eof" can't happen over HTTP`},
		{Script{Faults: []Fault{{At: CallTool, Do: HTML}}}, stdio, `mcptest: fault 0: "html" can't happen over stdio`},
		{Script{Faults: []Fault{{Do: Silent}}}, stdio, `mcptest: fault 0: "silent" happens at no step: set At`},
		{Good(), stdio, ""},
	} {
		got := ""
		if err := tt.script.check(tt.media); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestCommandPanics(t *testing.T) {
	var noise strings.Builder
	for noise.Len() < 2*longestArgument {
		noise.WriteString(rand.Text())
	}
	for name, script := range map[string]Script{"senseless": {Faults: []Fault{{}}}, "too long": {Instructions: noise.String()}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			script.Command()
		}()
	}
}

func TestWithLeavesTheScriptAlone(t *testing.T) {
	base := Good().With(Fault{At: Start, Do: Banner})
	a, b := base.With(Fault{At: Close, Do: Log}), base.With(Fault{At: Close, Do: Notify})
	if len(base.Faults) != 1 || a.Faults[1].Do != Log || b.Faults[1].Do != Notify {
		t.Error(base.Faults, a.Faults, b.Faults)
	}
}

func TestToolResults(t *testing.T) {
	script := Script{Tools: []Tool{
		{Name: "text", Text: "hi", IsError: true},
		{Name: "size", Size: 3},
		{Name: "result", Result: []byte(`{ "content": [], "x": 1.0 }`)},
		{Name: "error", Error: []byte(`{"code":1,"message":"m"}`)},
	}}
	for name, want := range map[string]string{
		"text":   `"result":{"content":[{"text":"hi","type":"text"}],"isError":true}`,
		"size":   `"result":{"content":[{"text":"xxx","type":"text"}]}`,
		"result": `"result":{ "content": [], "x": 1.0 }`,
		"error":  `"error":{"code":1,"message":"m"}`,
		"other":  `"error":{"code":-32602,"message":"unknown tool other"}`,
	} {
		_, got := talk(t, script, hello, strings.Replace(call, "echo", name, 1))
		if got[1] != answered(want) {
			t.Errorf("%s, want %s", got[1], answered(want))
		}
	}
}
