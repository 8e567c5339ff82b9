package mcpclient

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/cupule/cupule/internal/strictjson"
)

func TestParse(t *testing.T) {
	for _, row := range []struct {
		in, id, method, result, fault, problem string
	}{
		{in: `{"jsonrpc":"2.0","id":7,"result":{"a":1}}`, id: "7", result: `{"a":1}`},
		{in: ` {"result" : {} , "id":"x","jsonrpc":"2.0"} `, id: `"x"`, result: "{}"},
		{in: `{"jsonrpc":"2.0","\u0069d":7,"result":{}}`, id: "7", result: "{}"},
		{in: `{"jsonrpc":"2.0","ID":7,"result":{}}`, result: "{}"},
		{in: `{"jsonrpc":"2.0","method":"ping","id":1}`, id: "1", method: `"ping"`},
		{in: `{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, id: "1", fault: `{"code":1}`},
		{in: `{"id":7,"result":{}}`, id: "7", result: "{}", problem: `its "jsonrpc" is not "2.0"`},
		{in: `{"jsonrpc":"2.0","id":7,"id":8}`, id: "8", problem: `it has two members "id"`},
		{in: `{"jsonrpc":"2.0","id":7,"result":{"a":`, id: "7", problem: "it is no JSON: the text ends where a value is due"},
		{in: `{"jsonrpc":"2.0","id":7}}`, id: "7", problem: "it is no JSON: something follows it"},
		{in: `{"jsonrpc":"2.0" "id":7}`, problem: "it is no JSON: an object is broken"},
		{in: `{"jsonrpc":"2.0",}`, problem: "it is no JSON: an object is broken"},
		{in: `{jsonrpc:1}`, problem: "it is no JSON: an object is broken"},
		{in: "{\"a\":\"\xff\"}", problem: "it is no JSON: a string holds invalid UTF-8"},
		{in: `[]`, problem: "it is no JSON object"},
		{in: `{"jsonrpc":"2.0","id":7,"result":{"a":1,}}`, id: "7", problem: "it is no JSON: an object is broken"},
		{in: `{"jsonrpc":"2.0","id":7,"result":{"a":1 "b":2}}`, id: "7", problem: "it is no JSON: an object is broken"},
		{in: `{"jsonrpc":"2.0","id":7,"result":{"a":1`, id: "7", problem: "it is no JSON: an object is broken"},
		{in: ``, problem: "it is no JSON object"},
	} {
		m := parse([]byte(row.in))
		if string(m.id) != row.id || string(m.method) != row.method || string(m.result) != row.result || string(m.fault) != row.fault || m.problem != row.problem {
			t.Errorf("%s: id %s method %s result %s error %s problem %q", row.in, m.id, m.method, m.result, m.fault, m.problem)
		}
	}
}

func TestShape(t *testing.T) {
	for in, want := range map[string]string{
		`{"isError":true,"content":[]}`: "t [ ", `{"content":{"isError":true}}`: "0 { ", `{"resultType":"complete" , "isError" : 1}`: `1 0 "complete"`,
		`{"resultTyp\u0065":7,"isError":true}`: "t 0 7", "{}": "0 0 ", `{ }`: "0 0 ",
	} {
		m := parse([]byte(`{"jsonrpc":"2.0","id":1,"result":` + in + `}`))
		show := func(c byte) string { return string(max(c, '0')) }
		if got := show(m.shape.isError) + " " + show(m.shape.content) + " " + string(m.resultType); got != want || m.problem != "" || string(m.result) != in {
			t.Errorf("%s: %q, want %q; %s", in, got, want, m.problem)
		}
	}
}

func TestAnswer(t *testing.T) {
	for in, want := range map[string]string{
		`"result":{}`:                                "",
		`"result":null`:                              "its result is null",
		`"result":[]`:                                "its result is an array",
		`"result":true`:                              "its result is a boolean",
		`"x":1`:                                      "it has neither a result nor an error",
		`"result":{},"error":{}`:                     "it has both a result and an error",
		`"error":{"code":1,"message":"m"}`:           "",
		`"error":{"code":1.5,"message":"m"}`:         "its error has a code that is no integer",
		`"error":{"code":"1","message":"m"}`:         "its error has a code that is no integer",
		`"error":{"code":1,"message":["m"]}`:         "its error has a message that is no string",
		`"error":{"code":1}`:                         "its error has not one code and one message",
		`"error":{"Code":1,"MESSAGE":"m"}`:           "its error has not one code and one message",
		`"error":{"code":1,"message":"m","Code":2}`:  "",
		`"error":{"c\u006fde":1,"message":"m"}`:      "",
		`"error":{"code":1,"message":"m","code":2}`:  "its error has not one code and one message",
		`"error":{"message":"m","message":"n"}`:      "its error has not one code and one message",
		`"error":{}`:                                 "its error has not one code and one message",
		`"error":"oops"`:                             "its error has not one code and one message",
		`"error":null,"result":{}`:                   "it has both a result and an error",
		`"result":{},"result":{}`:                    `it has two members "result"`,
		`"error":{"code":1,"message":"m","data":[]}`: "",
	} {
		m := parse([]byte(`{"jsonrpc":"2.0","id":1,` + in + `}`))
		if _, _, problem := m.answer(); problem != want {
			t.Errorf("%s: %q, want %q", in, problem, want)
		}
	}
}

func TestOwnID(t *testing.T) {
	for in, want := range map[string]int64{"1": 1, "1073741824": 1 << 30} {
		if n, ok := ownID([]byte(in)); !ok || n != want {
			t.Errorf("%s: %d %v", in, n, ok)
		}
	}
	for _, in := range []string{"", "0", "03", "3.0", "3.7", "3e0", `"3"`, "-3", "null", " 3", "1000000000000000000000", "[3]"} {
		if n, ok := ownID([]byte(in)); ok {
			t.Errorf("%s is taken for %d", in, n)
		}
	}
}

func TestAppendLine(t *testing.T) {
	in := "{\r\n \"a\\n\": [1,\n2]\r}"
	out := appendLine([]byte("x\n"), []byte(in))
	if string(out) != "x\n"+`{   "a\n": [1, 2] }` {
		t.Errorf("%q", out)
	}
}

func TestAppendText(t *testing.T) {
	for _, s := range []string{"", "plain", `a "b" \c`, "täg\x00\n", "<b>&", "\xff"} {
		var back string
		if err := json.Unmarshal(appendText(nil, s), &back); err != nil || back != strings.ToValidUTF8(s, "\ufffd") {
			t.Errorf("%q came back as %q, %v", s, back, err)
		}
	}
}

// FuzzParse compares with encoding/json.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"jsonrpc":"2.0","id":7,"result":{"a":1}}`, `{"jsonrpc":"2.0","id":1,"id":2}`, `{"method":"x"}`, "[", "{}", `{"a":[{}]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		m := parse(in)
		if m.problem != "" {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(in, &want); err != nil {
			t.Fatalf("accepted %q: %v", in, err)
		}
		for name, got := range map[string][]byte{"id": m.id, "method": m.method, "result": m.result, "error": m.fault, "params": m.params} {
			if !bytes.Equal(bytes.TrimSpace(want[name]), got) {
				t.Fatalf("%q: %s is %q, want %q", in, name, got, want[name])
			}
		}
	})
}

// FuzzSkim compares the skimmer, fed in pieces, with a whole parse.
func FuzzSkim(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":7,"result":{"id":8,"a":"\"id\":9"}}`, `{"result":{"x":[1,{"id":3}]},"id":1073741824}`,
		`{"\u0069d":5}`, `{"id":"5"}`, `{"id":5.0}`, `{"id":5,"method":"x"}`, `{"id":1,"id":2}`, `{"id" : 77 , "b":1}`,
	} {
		f.Add([]byte(s), byte(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, size byte) {
		m := parse(in)
		if m.problem != "" && !strings.Contains(m.problem, "jsonrpc") && !strings.Contains(m.problem, "two members") {
			return
		}
		var s skimmer
		for rest := in; len(rest) > 0; {
			n := min(len(rest), int(size)+1)
			s.Write(rest[:n])
			rest = rest[n:]
		}
		ids := 0
		for member := range strictjson.Members(in) {
			if string(member.Key) == "id" {
				ids++
			}
		}
		want, ok := ownID(m.id)
		ok = ok && ids == 1 && m.method == nil
		if !ok {
			want = 0
		}
		got, found := s.call()
		if found != ok || got != want {
			t.Fatalf("%q: %d %v, want %d %v", in, got, found, want, ok)
		}
		if len(s.text) > maxSkimmed || len(s.id) > maxSkimmed {
			t.Fatalf("it keeps %d bytes", len(s.text)+len(s.id))
		}
	})
}
