package strictjson

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDuplicateKey(t *testing.T) {
	for _, test := range []struct {
		text, pointer string
		found         bool
	}{
		{text: `{}`},
		{text: `1`},
		{text: `"a"`},
		{text: `{"a":1,"b":2}`},
		{text: `{"a":"a","b":"a"}`},
		{text: `{"a":{"a":1},"b":{"a":1}}`},
		{text: `[{"a":1},{"a":1},"a","a"]`},
		{text: `{"a":["a","a"],"A":1}`},
		{text: `{"a":[{"a":1}],"b":1}`},
		{text: `{"a":1,"a":2}`, pointer: "/a", found: true},
		{text: `{"a":1,"b":[],"a":2}`, pointer: "/a", found: true},
		{text: `{"a":1,"\u0061":2}`, pointer: "/a", found: true},
		{text: `{"\u0061":1,"a":2}`, pointer: "/a", found: true},
		{text: `{"":1,"":2}`, pointer: "/", found: true},
		{text: `{"é":1,"\u00e9":2}`, pointer: "/é", found: true},
		{text: `{"𝄞":1,"\ud834\udd1e":2}`, pointer: "/𝄞", found: true},
		{text: `{"\ud800":1,"\udfff":2}`, pointer: "/\ufffd", found: true},
		{text: `{"a/b~":{"x":[0,{"k":1,"k":2}]}}`, pointer: "/a~1b~0/x/1/k", found: true},
		{text: ` [ 0 , { "k" : { } , "k" : 1 } ] `, pointer: "/1/k", found: true},
		{text: `{"a":{"b":1},"c":{"b":1,"b":1}}`, pointer: "/c/b", found: true},
		{text: `{"a":1,"b":{"c":1},"a":1}`, pointer: "/a", found: true},
		{text: `{"a\"":1,"a\\":2,"a\"":3}`, pointer: `/a"`, found: true},
		{text: `[[],[[]],{"a":[],"a":0}]`, pointer: "/2/a", found: true},
	} {
		pointer, found := DuplicateKey([]byte(test.text))
		if pointer != test.pointer || found != test.found {
			t.Errorf("%s: %q %v, want %q %v", test.text, pointer, found, test.pointer, test.found)
		}
	}
}

func TestDuplicateMember(t *testing.T) {
	if at, found := DuplicateMember([]byte(`{"a":{"x":1,"x":2},"b":[{"y":1,"y":1}]}`)); found {
		t.Errorf("found %s", at)
	}
	if at, found := DuplicateMember([]byte(`{"a":{"x":1},"b":[],"\u0061":3}`)); !found || at != "/a" {
		t.Errorf("%q %v, want /a", at, found)
	}
}

// Objects around the size where comparing gives way to a table, and far above it.
func TestDuplicateKeyInLargeObjects(t *testing.T) {
	for _, n := range []int{few - 1, few, few + 1, 2 * few, 3 * few, 100, 1000, 100_000} {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"k%d":{"k":%d},`, i, i)
		}
		once := "{" + b.String() + `"last":1}`
		if pointer, found := DuplicateKey([]byte(once)); found {
			t.Errorf("%d keys: found %s", n, pointer)
		}
		for _, again := range []string{"k0", "k\\u0030", fmt.Sprint("k", n/2), fmt.Sprint("k", n-1)} {
			twice := "[" + once + ",{" + b.String() + `"` + again + `":1}]`
			if _, found := DuplicateKey([]byte(twice)); !found {
				t.Errorf("%d keys: %s again was not found", n, again)
			}
		}
	}
}

func TestHugeNumber(t *testing.T) {
	for _, test := range []struct{ text, pointer string }{
		{`{"a":[1,2.5,-3e7],"b":"1e999999999"}`, ""},
		{`12345678901234567890`, ""},
		{`[1,{"x":1e999999999}]`, "/1/x"},
		{`[1,{"x":-1E-999999999}]`, "/1/x"},
		{`{"a":1e99999999999999999999999999}`, "/a"},
		{`{"a":0.` + strings.Repeat("1", 50) + `}`, "/a"},
		{strings.Repeat("9", 50), ""},
		{`{"e":1e20,"f":1e+41}`, "/f"},
		{`[1e-30,1e-400]`, "/1"},
		{`[0e999999999999,-0.00E-99999999,0.0e+000000000000000000000000000001,1e999999999999]`, "/3"},
		{`[0e999999999999999999,0e-9999999999999999999]`, "/1"},
		{`[0.` + strings.Repeat("0", 50) + `]`, "/0"},
		{`[true,false,null,1e00000000000000000000000000000000000000000001]`, ""},
	} {
		pointer, found := HugeNumber([]byte(test.text), 40)
		if pointer != test.pointer || found != (test.pointer != "" || test.text[0] == '9') {
			t.Errorf("%.60s: %q %v", test.text, pointer, found)
		}
	}
}

func TestMembers(t *testing.T) {
	var got []string
	for m := range Members([]byte(" {\n\"a\" : [1, {\"x\":2}] , \"\\u0062\":\"}\",\"a\":null }")) {
		got = append(got, fmt.Sprintf("%s %s %s", m.Name, m.Key, m.Value))
	}
	want := []string{`"a" a [1, {"x":2}]`, `"\u0062" b "}"`, `"a" a null`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"", "[]", "{}", "1", `{"a`, `{"a":`, `{"a":x}`} {
		for m := range Members([]byte(text)) {
			t.Errorf("%q has the member %s", text, m.Name)
		}
	}
	for range Members([]byte(`{"a":1,"b":2}`)) {
		break
	}
}

func TestElements(t *testing.T) {
	var got []string
	for e := range Elements([]byte(" [ 1,\"]\" ,[2,3] , {\"a\":[]}\n] ")) {
		got = append(got, string(e))
	}
	if diff := cmp.Diff([]string{"1", `"]"`, "[2,3]", `{"a":[]}`}, got); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"", "[]", "{}", "1", "[x", "["} {
		for e := range Elements([]byte(text)) {
			t.Errorf("%q has the element %s", text, e)
		}
	}
}

func TestAppendUnescaped(t *testing.T) {
	for _, texts := range [][]string{accept["strings"], accept["escapes"], accept["surrogates"]} {
		for _, text := range texts {
			var want string
			if err := json.Unmarshal([]byte(text), &want); err != nil {
				t.Fatal(err)
			}
			if got := string(AppendUnescaped(nil, []byte(text[1:len(text)-1]))); got != want {
				t.Errorf("%s means %q, not %q", text, want, got)
			}
		}
	}
}

func TestAppendCompact(t *testing.T) {
	got := string(AppendCompact(nil, []byte(" { \"a b\" :\r\n[ 1 ,\t\"\\\" x\" ] } ")))
	if want := `{"a b":[1,"\" x"]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
