package strictjson

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// The classes of a JSON parsing test suite: what every parser must accept.
var accept = map[string][]string{
	"numbers": {"0", "-0", "1", "-1", "123", "0.1", "-0.0", "1.5e10", "1E5", "1e+5", "1e-5", "0e1", "0e+1", "0E0", "20e1",
		"9007199254740993", "123456789012345678901234567890", "1e999999999", "-0.000000000000000000001", "123.456e78", "[0]", "[-0]", "[1 ]"},
	"strings": {`""`, `" "`, `"a"`, `"a/b"`, `"é"`, `"日本"`, `"𝄞"`, "\"\x7f\"", "\"\u0080\"", "\"\u2028\u2029\"", "\"\ufeff\"", "\"\uffff\"",
		"\"\U0010ffff\"", `"exactly7"`, `"exactly 8"`, `"longer than one word of eight"`, `"éééééééééééé"`},
	"escapes": {`"\""`, `"\\"`, `"\/"`, `"\b\f\n\r\t"`, `"\u0000"`, `"\u00e9"`, `"\u00E9"`, `"\\u0000"`, `"\\n"`, `"a\u0022b"`, `"\uFFFF"`, `"\u0061\u30af\u30EA\u30b9"`},
	"surrogates": {`"\ud834\udd1e"`, `"\uD834\uDD1E"`, `"\udbff\udfff"`, `"\ud800"`, `"\udc00"`, `"\ud800\ud800"`, `"\udc00\ud800"`,
		`"\ud800abc"`, `"\ud800\n"`, `"\ud800\u0041"`},
	"structure": {"[]", "{}", "[[]]", "[{}]", `{"a":[]}`, "[[],[]]", "[null,true,false,1,\"a\",{}]", `{"":0}`, `{"a":1,"b":2}`, `{"a":1,"a":2}`,
		`{"a":{"a":{"a":1}}}`, "[[[[1]]]]", `{"\u0000":1}`, "null", "true", "false"},
	"whitespace": {" 1", "1 ", "\t1\n", "\r\n[ ]", "[ 1 , 2 ]", "{ \"a\" : 1 }", " {} ", "\n\n\n[]", "[\n1\n]", `{"a" :1}`, "[] \t\r\n"},
}

// What every parser must refuse.
var refuse = map[string][]string{
	"numbers": {"-", "+1", "01", "-01", "00", "1.", ".1", "-.1", "1.e1", "1e", "1e+", "1e-", "1E", "1eE2", "0x1", "1_000", "1,000", "NaN", "Infinity",
		"-Infinity", "Inf", "--1", "1-", "1+2", "0.1.2", "1e1.5", "1 000", "[1a]", "[0e]", "[0e+]", "[1.0e]", "2.e3", "٣", "１", "-a", "[-2.]", "0e+-1", "[1]x"},
	"strings": {`"`, `"a`, `a"`, `'a'`, "\"\x00\"", "\"\x1f\"", "\"\n\"", "\"\t\"", "\"12345678\n\"", "\"1234567\n\"", `"a"b`, "`a`", `"a" "b"`, "“a”", "\"abc\x00\""},
	"UTF-8": {"\"\x80\"", "\"\xff\"", "\"\xc0\x80\"", "\"\xc3\"", "\"\xc3(\"", "\"\xe2\x82\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xf8\x88\x80\x80\x80\"",
		"\"12345678\xe9\"", "\xff", "[\xff]", "\xef\xbb", "\"\xc3", "{\"\xff\":1}", "\"\xe0\x80\xaf\"", "\"\xf0\x80\x80\xaf\"", "1\xff", "\x80"},
	"escapes": {`"\`, `"\"`, `"\x41"`, `"\a"`, `"\0"`, `"\'"`, `"\u"`, `"\u1"`, `"\u12"`, `"\u123"`, `"\u123g"`, `"\U0041"`, `"\u 123"`, `"\u+123"`, `"\é"`,
		`"\u00`, "\"\\\n\"", "\"\\\x00\"", `"\ud834\u"`, `"\ud834\`, `"\N"`},
	"structure": {"", "[", "]", "{", "}", "[1", "[1,", "[1,]", "[,1]", "[,]", "[1,,2]", "[1 2]", "[1:2]", "[1}", "{1]", `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`,
		`{,"a":1}`, `{"a":1,,"b":2}`, `{"a" 1}`, `{"a":1 "b":2}`, `{a:1}`, `{'a':1}`, `{1:1}`, `{"a"}`, `{"a",1}`, `{"a"::1}`, `{:1}`, `{null:1}`, `{"a":1]`, "[[]", "[]]", "{}}",
		"nul", "nulll", "NULL", "True", "tru", "fals", "truefalse", "nan", "undefined", "*", "<a>", "[1]#", "{\"a\":1}/**/", "//x\n1", "/* */1", "[...]", "{[]:1}", `{"a":b}`, "[a]", `["a",`, `["a`},
	"whitespace": {" ", "\n", "\f1", "\v1", "\u00a01", "\u20001", "1\f", "[\f]", "\u20281", "[1\u00a0]"},
	"BOM":        {"\ufeff1", "\ufeff{}", "\ufeff", "{}\ufeff", "\xff\xfe1\x00", "1\x00", "\x00[\x00]\x00"},
	"NUL":        {"\x00", "\x001", "1\x00", "[1\x00]", "{\"a\"\x00:1}", "[]\x00"},
	"trailing":   {"1 2", "{}{}", "[][]", "{} x", "1,", "[],", "\"a\",", "null null", "{}\n{}", "1\x1e", "[1]]", "{\"a\":1}}"},
}

func TestValidAccepts(t *testing.T) {
	for class, texts := range accept {
		for _, text := range texts {
			if err := Valid([]byte(text), 64); err != nil {
				t.Errorf("%s: %q: %v", class, text, err)
			}
			if !json.Valid([]byte(text)) {
				t.Errorf("%s: %q: encoding/json disagrees with the vector", class, text)
			}
		}
	}
}

func TestValidRefuses(t *testing.T) {
	for class, texts := range refuse {
		for _, text := range texts {
			err := Valid([]byte(text), 64)
			if err == nil {
				t.Errorf("%s: %q was accepted", class, text)
				continue
			}
			e := err.(*SyntaxError)
			if e.TooDeep || e.Offset < 0 || e.Offset > len(text) || e.Reason == "" {
				t.Errorf("%s: %q: bad error %+v", class, text, e)
			}
			if class != "UTF-8" && utf8.ValidString(text) && json.Valid([]byte(text)) {
				t.Errorf("%s: %q: encoding/json disagrees with the vector", class, text)
			}
		}
	}
}

// Every truncation of a valid object or array is refused, and so is every byte put behind it.
func TestValidNeedsTheWholeText(t *testing.T) {
	text := []byte(`{"a":[1,-2.5e+3,"\u00e9\n日"],"b":{"c":null,"d":true},"e":false}`)
	if err := Valid(text, 64); err != nil {
		t.Fatal(err)
	}
	for i := range text {
		if Valid(text[:i], 64) == nil {
			t.Errorf("accepted %q", text[:i])
		}
	}
	for c := range 256 {
		longer := append(text[:len(text):len(text)], byte(c))
		blank := strings.ContainsRune(" \t\r\n", rune(c))
		if (Valid(longer, 64) == nil) != blank {
			t.Errorf("byte %#x behind the text: accepted %v", c, !blank)
		}
	}
}

// A string's special bytes are found wherever they fall within a word.
func TestValidStringsAtEveryOffset(t *testing.T) {
	for n := range 40 {
		for c := range 256 {
			for tail := range 12 {
				text := []byte(`"` + strings.Repeat("x", n) + string([]byte{byte(c)}) + strings.Repeat("y", tail) + `"`)
				want := c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\'
				if got := Valid(text, 1) == nil; got != want {
					t.Fatalf("%q: accepted %v", text, got)
				}
			}
		}
	}
}

func TestValidDepth(t *testing.T) {
	nested := func(n int) []byte {
		return []byte(strings.Repeat(`[{"a":`, n/2) + strings.Repeat("[", n%2) + "1" + strings.Repeat("]", n%2) + strings.Repeat("}]", n/2))
	}
	for _, limit := range []int{1, 2, 63, 64, 65, 128, MaxDepth} {
		if err := Valid(nested(limit), limit); err != nil {
			t.Errorf("%d levels, limit %d: %v", limit, limit, err)
		}
		err, _ := Valid(nested(limit+1), limit).(*SyntaxError)
		if err == nil || !err.TooDeep {
			t.Errorf("%d levels, limit %d: %v", limit+1, limit, err)
		}
	}
	for _, opening := range []string{"[", "{", `{"a":`, `[{"a":[`} {
		if Valid([]byte(strings.Repeat(opening, 100_000)), 1<<30) == nil {
			t.Errorf("100,000 times %q was accepted", opening)
		}
	}
	if err := Valid([]byte("1"), 0); err != nil {
		t.Errorf("a scalar has no depth: %v", err)
	}
	if Valid([]byte("[]"), 0) == nil {
		t.Error("an array has depth 1")
	}
}

func TestSyntaxErrorOffset(t *testing.T) {
	for text, want := range map[string]int{"[1,x]": 3, `{"a" 1}`: 5, "\"ab\xff\"": 3, `"a\q"`: 2, "1 2": 2, "": 0, "[01]": 1} {
		err, _ := Valid([]byte(text), 64).(*SyntaxError)
		if err == nil || err.Offset != want || !strings.Contains(err.Error(), err.Reason) {
			t.Errorf("%q: %v, want offset %d", text, err, want)
		}
	}
}

func TestKindOf(t *testing.T) {
	for text, want := range map[string]Kind{" {}": Object, "[]": Array, `"a"`: String, "-1": Number, "7": Number, "true": Bool,
		"false": Bool, "\nnull": Null, "": Invalid, "  ": Invalid, "x": Invalid} {
		if got := KindOf([]byte(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if Object.String() != "object" || Kind(99).String() != "no JSON value" {
		t.Error("names of kinds")
	}
}

func TestNoAllocation(t *testing.T) {
	text := []byte(`{"jsonrpc":"2.0","id":7,"method":"echo","params":{"text":"é\u00e9 and more","list":[1,2,{"deep":{"er":[null,true]}}]}}`)
	for name, f := range map[string]func(){
		"Valid":        func() { _ = Valid(text, 64) },
		"DuplicateKey": func() { DuplicateKey(text) },
		"HugeNumber":   func() { HugeNumber(text, 100) },
		"Members": func() {
			for m := range Members(text) {
				_ = m
			}
		},
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
