package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cupule/cupule/internal/strictjson"
)

// FuzzOutline draws a schema and a value from its input. What the outline is certain of,
// the validator must find valid, before and after numbers were respelled.
func FuzzOutline(f *testing.F) {
	f.Add([]byte("a schema and a value are drawn from these bytes"))
	for i := range 64 {
		f.Add([]byte(strings.Repeat(string(rune('!'+i))+fmt.Sprint(i*i*7919), 12)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d := draw{data}
		text := d.schema(3)
		s := compile(json.RawMessage(text), func(string, ...any) {})
		if s == nil {
			return
		}
		for range 8 {
			compareOutline(t, s, text, d.value(4))
		}
	})
}

// FuzzOutlineText does the same with texts as they come.
func FuzzOutlineText(f *testing.F) {
	for _, test := range outlines {
		for _, value := range strings.Fields(test.certain + " " + test.uncertain) {
			f.Add(test.schema, value)
		}
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		s := compile(json.RawMessage(text), func(string, ...any) {})
		if s == nil || strictjson.Valid([]byte(value), strictjson.MaxDepth) != nil {
			return
		}
		if _, found := strictjson.DuplicateKey([]byte(value)); !found {
			compareOutline(t, s, text, value)
		}
	})
}

func compareOutline(t *testing.T, s *schema, text, value string) {
	t.Helper()
	if _, huge := strictjson.HugeNumber([]byte(value), maxDigits); huge {
		return
	}
	seen := s.outline.look([]byte(value))
	problems := s.validate(json.RawMessage(value))
	if seen.certain() && problems != nil {
		t.Fatalf("%s\nis certain of %s\nbut %v", text, value, problems)
	}
	if again := respell(json.RawMessage(value), seen.loose); problems == nil && s.validate(again) != nil {
		t.Fatalf("%s\ntakes %s\nand not %s", text, value, again)
	}
}

// draw makes choices from bytes, and the first one always when those are used up.
type draw struct{ data []byte }

func (d *draw) from(choices int) int {
	if len(d.data) == 0 {
		return 0
	}
	c := int(d.data[0])
	d.data = d.data[1:]
	return c % choices
}

func (d *draw) of(choices ...string) string { return choices[d.from(len(choices))] }

func (d *draw) number() string {
	return d.of("0", "1", "-1", "2", "1.0", "1.5", "-0", "1e3", "10E-1", "1000", "-0.0", "9223372036854775807",
		"9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615", "1e30")
}

func (d *draw) quoted() string {
	return d.of(`""`, `"a"`, `"b"`, `"ab"`, `"abc"`, `"é"`, `"\u00e9"`, `"e\u0301"`, `"\ud800"`, `"\ud834\udd1e"`, `"𝄞"`, `"\n\n"`, `"\u0061"`)
}

func (d *draw) key() string { return d.of(`"a"`, `"b"`, `"é"`, `"c d"`, `"A"`) }

func (d *draw) list(most int, open, shut string, item func(i int) string) string {
	items := make([]string, d.from(most+1))
	for i := range items {
		items[i] = item(i)
	}
	return open + strings.Join(items, ",") + shut
}

// value returns a JSON value without repeated keys.
func (d *draw) value(depth int) string {
	choice := d.from(8)
	if depth == 0 {
		choice %= 5
	}
	switch choice {
	case 0:
		return d.quoted()
	case 1, 2:
		return d.number()
	case 3:
		return d.of("null", "true", "false")
	case 4:
		return d.of("{}", "[]", " { } ", "[ ]")
	case 5:
		return d.list(3, "[", " ]", func(int) string { return d.value(depth - 1) })
	}
	keys := []string{`"a"`, `"b"`, `"\u00e9"`, `"c d"`, `"\u0041"`}
	return d.list(5, "{ ", "}", func(i int) string { return keys[i] + d.of(":", " : ") + d.value(depth-1) })
}

func (d *draw) schema(depth int) string {
	if depth == 0 || d.from(6) == 0 {
		return d.of(`{}`, `true`, `false`, `{"type":"integer"}`, `{"type":["string","null"]}`, `{"type":"number"}`)
	}
	seen := map[string]bool{}
	words := d.list(5, "{", "}", func(int) string {
		name, value := d.keyword(depth)
		if seen[name] {
			name = fmt.Sprint("x-", len(seen), name)
		}
		seen[name] = true
		return fmt.Sprintf("%q:%s", name, value)
	})
	return words
}

func (d *draw) keyword(depth int) (name, value string) {
	deeper := func() string { return d.schema(depth - 1) }
	kind := func(int) string {
		return d.of(`"object"`, `"array"`, `"string"`, `"integer"`, `"number"`, `"null"`, `"boolean"`)
	}
	byKey := func() string {
		keys := []string{`"a"`, `"b"`, `"é"`, `"c d"`}
		return d.list(4, "{", "}", func(i int) string { return keys[i] + ":" + deeper() })
	}
	switch d.from(16) {
	case 0, 1:
		return "properties", byKey()
	case 2:
		return "type", kind(0)
	case 3:
		return "type", d.list(3, "[", "]", kind)
	case 4:
		return "required", d.list(2, "[", "]", func(int) string { return d.key() })
	case 5, 6:
		return "additionalProperties", d.of("false", "true", deeper())
	case 7:
		return "items", deeper()
	case 8:
		return "enum", d.list(3, `["a"`, "]", func(int) string { return "," + d.of(d.quoted(), d.number(), "null") })
	case 9:
		return "const", d.value(1)
	case 10, 11:
		return d.of("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), d.number()
	case 12, 13:
		return d.of("minLength", "maxLength"), d.of("0", "1", "2", "3.0")
	case 14:
		return d.of("description", "title", "default", "examples", "$comment", "deprecated", "x-own"), d.of(`"a"`, `["a"]`, "true")
	}
	return d.doubtful(deeper)
}

// doubtful is what an outline must not pass over.
func (d *draw) doubtful(deeper func() string) (name, value string) {
	switch d.from(10) {
	case 0:
		return d.of("anyOf", "allOf", "oneOf", "prefixItems"), "[" + deeper() + "," + deeper() + "]"
	case 1:
		return d.of("not", "if", "contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems"), deeper()
	case 2:
		return d.of("minItems", "maxItems", "minProperties", "maxProperties"), d.of("0", "1", "2")
	case 3:
		return "uniqueItems", "true"
	case 4:
		return "multipleOf", d.of("2", "0.5")
	case 5:
		return "pattern", `"^a"`
	case 6:
		return "patternProperties", `{"^a":` + deeper() + `}`
	case 7:
		return "$schema", d.of(`"https://json-schema.org/draft/2020-12/schema"`, `"http://json-schema.org/draft-07/schema#"`, `"http://json-schema.org/draft-04/schema#"`)
	case 8:
		return "dependentSchemas", `{"a":` + deeper() + `}`
	}
	return "$ref", d.of(`"#/properties/a"`, `"#"`, `"#/items"`)
}

type decoded struct {
	A int8                   `json:"a"`
	B []string               `json:"b,omitempty"`
	C *struct{ X, Y uint16 } `json:"c,omitempty"`
	D map[string]int64       `json:"d,omitempty"`
	E json.RawMessage        `json:"e,omitempty"`
	F float64                `json:"f,omitzero"`
	G [2]bool                `json:"g,omitzero"`
	N json.Number            `json:"n,omitempty"`
	U uint64                 `json:",omitempty"`
}

// FuzzExactDecoding compares decoding for the types that need no check of unknown fields
// with decoding that checks for itself, on all that their schema takes.
func FuzzExactDecoding(f *testing.F) {
	for _, text := range []string{
		`{"a":1,"b":["x"],"c":{"X":1,"Y":2},"d":{"k":-1},"e":[1.0],"f":1e3,"g":[true,false],"n":1.50,"U":3}`,
		`{"A":1}`, `{"a":1,"C":null}`, `{"a":1.0,"c":null,"b":null,"U":1e3}`, `{"a":1,"c":{"x":1,"Y":2,"X":3}}`, `{"\u0061":1,"u":3}`,
	} {
		f.Add([]byte(text))
	}
	op := Typed(Operation{Name: "op"}, func(_ context.Context, _ *Call, p decoded) (decoded, error) { return p, nil })
	s := compile(op.Params, func(format string, args ...any) { f.Fatalf(format, args...) })
	if op.exact == nil {
		f.Fatal("the type is not exact")
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if checkForm(data) != nil {
			return
		}
		loose, problems := s.check(data)
		if problems != nil {
			return
		}
		var quick, strict decoded
		params := respell(data, loose)
		err, wanted := decode(&Call{Params: params, exact: true}, &quick), decode(&Call{Params: params}, &strict)
		if (err == nil) != (wanted == nil) || !reflect.DeepEqual(quick, strict) {
			t.Fatalf("%s\nis  %+v, %v\nnot %+v, %v", data, quick, err, strict, wanted)
		}
	})
}
