package jsonrpcserver

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cupule/cupule/internal/strictjson"
)

// TestEnvelope says of each message what it is: a request with its id, a notification, a
// response to ignore, a fault with the id of its reply, or no JSON.
func TestEnvelope(t *testing.T) {
	deep := strings.Repeat("[", 63) + strings.Repeat("]", 63)
	for _, test := range []struct{ text, want string }{
		{`{"jsonrpc":"2.0","method":"a","id":1}`, "request 1"},
		{` { "id" : "x" , "method" : "a" , "jsonrpc" : "2.0" } `, `request "x"`},
		{`{"jsonrpc":"2.0","method":"a","id":null}`, "request null"},
		{`{"jsonrpc":"2.0","method":"a"}`, "notification"},
		{`{"jsonrpc":"2.0","method":"","id":1}`, "request 1"},
		{`{"jsonrpc":"2\u002e0","m\u0065thod":"\u0061","id":1}`, "request 1"},
		{`{"jsonrpc":"2.0","method":"a","id":-0.0e+10}`, "request -0.0e+10"},
		{`{"jsonrpc":"2.0","method":"a","id":1e400}`, "request 1e400"},
		{`{"jsonrpc":"2.0","method":"a","id":"\ud800"}`, `request "\ud800"`},
		{`{"jsonrpc":"2.0","method":"a","id":1,"extra":{"x":1,"y":2},"other":null}`, "request 1"},
		{`{"jsonrpc":"2.0","method":"a","id":1,"meta":{"progressToken":7,"x":[]}}`, "request 1"},
		{`{"jsonrpc":"2.0","method":"a","id":1,"params":` + deep + `}`, "request 1"},

		{`{"jsonrpc":"2.0","result":1,"id":1}`, "response"},
		{`{"jsonrpc":"2.0","error":{"code":1,"message":"m"},"id":1}`, "response"},
		{`{"jsonrpc":"1.0","result":1,"error":null,"id":[]}`, "response"},
		{`{"result":1}`, "response"},

		{`{}`, "fault "},
		{`{"foo":"boo"}`, "fault "},
		{`[]`, "fault "}, {`1`, "fault "}, {`"a"`, "fault "}, {`null`, "fault "}, {`true`, "fault "},
		{`{"method":"a","id":1}`, "fault 1"},
		{`{"jsonrpc":"2.0","id":1}`, "fault 1"},
		{`{"jsonrpc":"1.0","method":"a","id":1}`, "fault 1"},
		{`{"jsonrpc":2.0,"method":"a","id":1}`, "fault 1"},
		{`{"jsonrpc":null,"method":"a","id":1}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":1,"id":1}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":null,"id":1}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":["a"]}`, "fault "},
		{`{"jsonrpc":"2.0","method":"a","params":null,"id":1}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":"a","params":"x","id":1}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":"a","params":7,"id":1}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":"a","params":true}`, "fault "},
		{`{"jsonrpc":"2.0","method":"a","id":true}`, "fault "},
		{`{"jsonrpc":"2.0","method":"a","id":[1]}`, "fault "},
		{`{"jsonrpc":"2.0","method":"a","id":{}}`, "fault "},
		{`{"jsonrpc":"2.0","method":"a","id":1,"id":1}`, "fault "},
		{`{"jsonrpc":"2.0","method":"a","id":1,"i\u0064":2}`, "fault "},
		{`{"jsonrpc":"2.0","method":"a","id":1,"id":2,"id":3}`, "fault "},
		{`{"jsonrpc":"2.0","jsonrpc":"2.0","method":"a","id":1}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":"a","m\u0065thod":"b","id":1}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":"a","params":[],"params":[],"id":1}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":"a","id":1,"extra":1,"e\u0078tra":2}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":"a","id":1,"meta":{},"meta":{}}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":"a","id":1,"result":1}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":"a","id":1,"error":null}`, "fault 1"},
		{`{"jsonrpc":"2.0","METHOD":"b","method":"a","id":7}`, "fault 7"},
		{`{"jsonrpc":"2.0","method":"a","ID":7}`, "fault "},
		{`{"jsonrpc":"2.0","method":"a","id":1,"Id":7}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":"a","id":1,"paramſ":[]}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":"a","id":1,"method\u0000":"b"}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":"a","id":1,"params\u0000x":[]}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":"a","id":1," id":2}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":"a","id":1,"method\u0000` + strings.Repeat("x", 60) + `":"b"}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":"a","id":1,"\u0000\u0000Method \u0000` + strings.Repeat("x", 60) + `":"b"}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":"a","id":1,"method` + strings.Repeat(" ", 60) + `":"b"}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":"a","id":1,"` + strings.Repeat(" ", 60) + `id":2}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":"a","id":1,"x\u0000method":"b"}`, "request 1"},
		{`{"jsonrpc":"2.0","method":"a","id":1,"JSONRPC":"1"}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":"a","id":1,"meta":1}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":"a","id":1,"meta":{"a":1,"a":2}}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":"a","id":1,"meta":{"a":[{"b":1,"\u0062":2}]}}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":"a","id":1,"meta":{"progressToken":1,"ProgressToken":2}}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":"a","id":1,"extra":{"x":1,"x":2}}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":"a","id":1,"extra":[{"x":1,"x":2}]}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":"a","id":1,"meta":{"progressToken":true}}`, "fault 1"},
		{`{"jsonrpc":"2.0","method":"a","id":1,"meta":{"progressToken":1,"progressToken":2}}`, "fault 1"},

		{``, "syntax"}, {`{`, "syntax"}, {`{"jsonrpc":"2.0","method":"a","id":1`, "syntax"},
		{`{"jsonrpc":"2.0","method":"a","id":1}}`, "syntax"},
		{`{"jsonrpc":"2.0","method":"a","id":1}{"jsonrpc":"2.0","method":"a","id":2}`, "syntax"},
		{`{"jsonrpc":"2.0","method":"a","id":01}`, "syntax"},
		{"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\",\"id\":1}", "syntax"},
		{"{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"id\":1,\"\xff\":1}", "syntax"},
		{"\ufeff{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"id\":1}", "syntax"},
		{"{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"id\":1}\x00", "syntax"},
		{`{"jsonrpc":"2.0","method":"a","id":1,}`, "syntax"},
		{`{"jsonrpc":"2.0" "method":"a"}`, "syntax"},
		{`{"jsonrpc":"2.0","method":"a","id":1,"params":[` + deep + `]}`, "syntax"},
	} {
		if got := verdict([]byte(test.text)); got != test.want {
			t.Errorf("%.120s: %s, want %s", test.text, got, test.want)
		}
	}
}

func verdict(data []byte) string {
	var t text
	err := t.scan(data, 1)
	e := t.one
	switch {
	case err != nil && err.Kind == "parse_error":
		return "syntax"
	case t.batch:
		return "fault "
	case e.isResponse():
		return "response"
	case e.fault != "":
		return "fault " + string(e.id)
	case e.id == nil:
		return "notification"
	}
	return "request " + string(e.id)
}

func TestTakeMeta(t *testing.T) {
	for _, test := range []struct{ params, rest, token string }{
		{`{"a":1}`, `{"a":1}`, ""},
		{`[{"_meta":{"progressToken":1}}]`, `[{"_meta":{"progressToken":1}}]`, ""},
		{`{"a":1,"_meta":{"progressToken":"t","x":2},"b":[ 2 ]}`, `{"a":1,"b":[ 2 ]}`, `"t"`},
		{`{"_meta":{"progressToken":7}}`, `{}`, `7`},
		{`{"_m\u0065ta":{"progressToken":7}}`, `{}`, `7`},
		{`{"_meta":{}}`, `{"_meta":{}}`, ""},
		{`{"_meta":null}`, `{"_meta":null}`, ""},
		{`{"_meta":{"progressToken":null}}`, `{"_meta":{"progressToken":null}}`, ""},
		{`{"_meta":{"progressToken":1},"_meta":{"progressToken":1}}`, `{"_meta":{"progressToken":1},"_meta":{"progressToken":1}}`, ""},
		{`{"_meta":{"progressToken":1},"_meta":{}}`, `{"_meta":{"progressToken":1},"_meta":{}}`, ""},
		{`{"_meta":{"progressToken":1,"a":{"b":1,"b":2}}}`, `{"_meta":{"progressToken":1,"a":{"b":1,"b":2}}}`, ""},
	} {
		rest, token := takeMeta([]byte(test.params))
		if string(rest) != test.rest || string(token) != test.token {
			t.Errorf("%s: %s %s", test.params, rest, token)
		}
	}
}

func TestScanBatch(t *testing.T) {
	element := `{"jsonrpc":"2.0","method":"a","id":1}`
	for written, want := range map[string]string{
		"[" + element + "]":                         "",
		"[" + element + "," + element + " , 1]":     "",
		" [ ] ":                                     "invalid_request",
		"[" + strings.Repeat(element+",", 3) + "1]": "invalid_request",
		"[" + strings.Repeat(element+",", 5) + "x]": "parse_error",
		"[" + element + ",]":                        "parse_error",
		"[" + element + " " + element + "]":         "parse_error",
		"[" + element:                               "parse_error",
		"[" + element + "]]":                        "parse_error",
		"[" + strings.Repeat("[", 63) + strings.Repeat("]", 63) + "]": "",
		"[" + strings.Repeat("[", 64) + strings.Repeat("]", 64) + "]": "parse_error",
	} {
		got := ""
		if err := new(text).scan([]byte(written), 3); err != nil {
			got = string(err.Kind)
		}
		if got != want {
			t.Errorf("%.80s: %q, want %q", written, got, want)
		}
	}
}

// FuzzEnvelope compares with encoding/json: what is taken for a request or notification
// means the same there, to the byte.
func FuzzEnvelope(f *testing.F) {
	for _, file := range caseFiles(f) {
		for _, x := range readCases(f, file) {
			f.Add([]byte(x.send))
		}
	}
	f.Add([]byte(`{"jsonrpc":"2.0","method":"a","id":1,"meta":{"progressToken":1},"paramſ":2}`))
	f.Add([]byte(`[{"jsonrpc":"2.0","method":"a","id":"\ud800"},{"result":1},3]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var got text
		err := got.scan(data, DefaultMaxBatch)
		if err != nil && err.Kind == "parse_error" {
			if utf8.Valid(data) && json.Valid(data) && strictjson.Valid(data, MaxDepth) == nil {
				t.Fatalf("refused %q: %v", data, err)
			}
			return
		}
		if !json.Valid(data) || !utf8.Valid(data) {
			t.Fatalf("accepted %q", data)
		}
		var elements []json.RawMessage
		if !got.batch {
			checkEnvelope(t, &got.one, data)
			return
		}
		if json.Unmarshal(data, &elements) != nil || err == nil && len(elements) != len(got.many) {
			t.Fatalf("%q: %d messages, not %d", data, len(got.many), len(elements))
		}
		for i := range got.many {
			if i < len(elements) {
				checkEnvelope(t, &got.many[i], elements[i])
			}
		}
	})
}

func checkEnvelope(t *testing.T, e *envelope, data []byte) {
	t.Helper()
	if e.fault != "" {
		return
	}
	var want struct {
		Version *string         `json:"jsonrpc"`
		Method  *string         `json:"method"`
		Params  json.RawMessage `json:"params"`
		ID      json.RawMessage `json:"id"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	switch {
	case want.Version == nil || *want.Version != "2.0" || want.Method == nil || *want.Method != string(e.method),
		!bytes.Equal(want.Params, e.params), !bytes.Equal(want.ID, e.id), want.Result != nil || want.Error != nil:
		t.Fatalf("%q is %+v, not %+v", data, want, e)
	}
}

// Work on an envelope of many keys grows with its size only.
func TestEnvelopeOfManyKeys(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"jsonrpc":"2.0","method":"a","id":1`)
	for i := 0; b.Len() < 900_000; i++ {
		b.WriteString(`,"k` + strings.Repeat("x", i%7) + jsonNumber(i) + `":0`)
	}
	if got := verdict([]byte(b.String() + "}")); got != "request 1" {
		t.Error(got)
	}
	if got := verdict([]byte(b.String() + `,"k0":1}`)); got != "fault 1" {
		t.Error(got)
	}
}

func jsonNumber(i int) string {
	text, _ := json.Marshal(i)
	return string(text)
}
