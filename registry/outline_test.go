package registry

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// outlines are schemas with values, between blanks, that their outlines are certain of, and
// that they leave to the validator.
var outlines = []struct{ schema, certain, uncertain string }{
	{`true`, `1 {} [] null "x"`, ``},
	{`{}`, `1 {} [1.5,{"a":[]}] null "\n"`, ``},
	{`false`, ``, `1 {}`},
	{`{"type":"object"}`, `{} {"a":1e3}`, `[] 1`},
	{`{"type":["null","boolean"]}`, `null true false`, `0 "" [] {}`},
	{`{"type":"integer"}`, `0 -1 123456789012345678901234567890`, `1.0 1e3 1.5 "1" null`},
	{`{"type":"number"}`, `0 1.5 -1e-3`, `"1"`},
	{`{"type":["integer","number"]}`, `0 1.5`, `"1"`},
	{`{"type":"integer","minimum":-1,"maximum":2}`, `-1 0 -0 2`, `-2 3 1.0 99999999999999999999`},
	{`{"exclusiveMinimum":0,"exclusiveMaximum":3}`, `1 2 "x"`, `0 3 1.5`},
	{`{"minimum":1.5}`, ``, `2 "x"`},
	{`{"maximum":18446744073709551615}`, ``, `2`},
	{`{"minLength":1,"maxLength":2}`, `"a" "ab" "𝄞𝄞" 7`, `"" "abc" "\n" "\ud834\udd1e"`},
	{`{"maxLength":2}`, `"" "\n"`, `"\u0061"`},
	{`{"enum":["a","é"]}`, `"a" "é"`, `"b" "\u0061" 1`},
	{`{"enum":["a",1]}`, ``, `"a" 1`},
	{`{"const":"a"}`, `"a"`, `"b" null`},
	{`{"const":1}`, ``, `1 "a"`},
	{`{"const":"a","enum":["a"]}`, ``, `"a"`},
	{`{"items":{"type":"string"}}`, `[] ["a","b"] {}`, `[1] ["a",1]`},
	{`{"properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`, `{"a":"x"} []`, `{} {"a":1} {"a":"x","b":1} {"\u0061":"x"} {"A":"x"}`},
	{`{"properties":{"a":{}},"additionalProperties":{"type":"integer"}}`, `{"a":"x","b":1} {}`, `{"b":"x"} {"b":1.0}`},
	{`{"required":["a","b"],"additionalProperties":{"type":"integer"}}`, `{"a":1,"b":2,"c":3}`, `{"a":1} {"a":1,"b":"2"}`},
	{`{"required":["a"],"additionalProperties":false}`, ``, `{} {"a":1}`},
	{`{"properties":{"a":{"pattern":"x"},"b":{"type":"array","items":{"oneOf":[{}]}}}}`, `{} {"c":1} {"b":[]}`, `{"a":"x"} {"b":[1]}`},
	{`{"title":"t","description":"d","default":1,"examples":[2],"$comment":"c","deprecated":true,"$schema":"https://json-schema.org/draft/2020-12/schema"}`, `1`, ``},
	{`{"$schema":"http://json-schema.org/draft-07/schema#","type":"integer"}`, ``, `1`},
	{`{"$ref":"#/$defs/a","$defs":{"a":{}}}`, ``, `1`},
	{`{"minItems":1}`, ``, `[1]`},
}

func TestOutlines(t *testing.T) {
	for _, test := range outlines {
		s := compile(json.RawMessage(test.schema), func(format string, args ...any) { t.Errorf(format, args...) })
		for list, want := range map[string]bool{test.certain: true, test.uncertain: false} {
			for _, value := range strings.Fields(list) {
				if seen := s.outline.look([]byte(value)); seen.certain() != want {
					t.Errorf("%s: of %s certain %v, want %v", test.schema, value, !want, want)
				}
				compareOutline(t, s, test.schema, value)
			}
		}
	}
}

func TestManyRequiredFields(t *testing.T) {
	for n, certain := range map[int]bool{64: true, 65: false} {
		var required, value []string
		for i := range n {
			required = append(required, fmt.Sprintf(`"k%d"`, i))
			value = append(value, fmt.Sprintf(`"k%d": 1`, i))
		}
		text := `{"required":[` + strings.Join(required, ",") + `]}`
		s := compile(json.RawMessage(text), func(format string, args ...any) { t.Errorf(format, args...) })
		if seen := s.outline.look([]byte("{" + strings.Join(value, " , ") + "}")); seen.certain() != certain {
			t.Errorf("%d required fields: certain %v", n, !certain)
		}
		if seen := s.outline.look([]byte("{" + strings.Join(value[1:], ",") + "}")); seen.certain() {
			t.Errorf("%d required fields: certain without the first", n)
		}
	}
}

// Most users write typed operations: that their parameters are decoded once, not twice,
// shows in what a call allocates.
func TestAllocations(t *testing.T) {
	typed := Typed(Operation{Name: "typed"}, subtract)
	r, err := New([]Operation{typed, {Name: "schema", Params: typed.Params, Handler: echo}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, most := range map[string]float64{"typed": 14, "schema": 4} {
		req := Request{Operation: name, Params: json.RawMessage(`{"minuend":42,"subtrahend":23}`)}
		n := testing.AllocsPerRun(100, func() {
			if _, err := r.Invoke(t.Context(), req); err != nil {
				t.Fatal(err)
			}
		})
		if n > most {
			t.Errorf("%s: %v allocations, at most %v are due", name, n, most)
		}
	}
}
