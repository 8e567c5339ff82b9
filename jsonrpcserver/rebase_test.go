package jsonrpcserver

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cupule/cupule/internal/strictjson"
	"github.com/google/go-cmp/cmp"
)

func TestRebase(t *testing.T) {
	for _, row := range []struct{ name, schema, want string }{
		{"no reference", `{"type":"string"}`, `{"type":"string"}`},
		{"to a part", `{"$ref":"#/$defs/a"}`, `{"$ref":"R/$defs/a"}`},
		{"to itself", `{"items":{"$ref":"#"}}`, `{"items":{"$ref":"R"}}`},
		{"escaped key", `{"\u0024ref":"#/a"}`, `{"\u0024ref":"R/a"}`},
		{"escaped value", `{"$ref":"\u0023/a"}`, `{"$ref":"R/a"}`},
		{"an anchor", `{"$ref":"#name"}`, `{"$ref":"#name"}`},
		{"another document", `{"$ref":"https://example.org/a#/b"}`, `{"$ref":"https://example.org/a#/b"}`},
		{"a property of that name", `{"properties":{"$ref":{"type":"string"}}}`, `{"properties":{"$ref":{"type":"string"}}}`},
		{"no text", `{"$ref":1}`, `{"$ref":1}`},
		{"in lists", `{"anyOf":[{"$ref":"#/a"},{"$ref":"#/b"},true]}`, `{"anyOf":[{"$ref":"R/a"},{"$ref":"R/b"},true]}`},
		{"empty ones", `{"a":{},"b":[],"c":[[],{}]}`, `{"a":{},"b":[],"c":[[],{}]}`},
		{"whitespace", " { \"a\" : [ 1 , { \"$ref\" : \"#/x\" } ] } ", `{"a":[1,{"$ref":"R/x"}]}`},
		{"scalars", `{"a":null,"b":false,"c":-1.50e+1,"d":"é\n"}`, `{"a":null,"b":false,"c":-1.50e+1,"d":"é\n"}`},
		{"a boolean", `true`, `true`},
		{"quotes in a pointer", `{"$ref":"#/a\"b"}`, `{"$ref":"R/a\"b"}`},
	} {
		got := rebase(nil, []byte(row.schema), "R")
		if err := strictjson.Valid(got, MaxDepth); err != nil {
			t.Errorf("%s: %s: %v", row.name, got, err)
		}
		var g, w any
		if json.Unmarshal(got, &g) != nil || json.Unmarshal([]byte(row.want), &w) != nil {
			t.Errorf("%s: %s", row.name, got)
		}
		if diff := cmp.Diff(w, g); diff != "" {
			t.Errorf("%s: %s", row.name, diff)
		}
	}
}

// A schema whose references are escaped or to itself is shared under a name that is escaped.
func TestPlace(t *testing.T) {
	shared := map[string]json.RawMessage{}
	if got := place("a/b~c.params", json.RawMessage(`{"$ref":"#/x"}`), shared); string(got) != `{"$ref":"#/components/schemas/a~1b~0c.params"}` {
		t.Errorf("%s", got)
	}
	if got := string(shared["a/b~c.params"]); !strings.Contains(got, "#/components/schemas/a~1b~0c.params/x") {
		t.Error(got)
	}
	if got := place("plain", json.RawMessage(`{"type":"string"}`), shared); string(got) != `{"type":"string"}` || len(shared) != 1 {
		t.Errorf("%s, %d", got, len(shared))
	}
}
