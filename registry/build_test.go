package registry

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cupule/cupule/effects"
	"github.com/google/go-cmp/cmp"
)

func TestEveryProblemAtOnce(t *testing.T) {
	at := effects.Position{File: "app.yaml", Line: 3, Column: 5}
	_, err := New([]Operation{
		{Name: "ok", Handler: echo},
		{Name: "ok", Handler: echo},
		{Name: "rpc.mine", Handler: echo},
		{Name: "no handler", At: at},
		{Name: "limits", Handler: echo, Timeout: -1, MaxOutput: LargestMaxOutput + 1},
		{Name: "narrow", Handler: echo, Upstream: &Upstream{Server: "s", Tool: "t", Effects: effects.NewSet(effects.Mutation), Transport: effects.Stdio}},
		{Name: "schema", Handler: echo, Params: json.RawMessage(`{"type":"nothing"}`), Result: json.RawMessage(`{`)},
		{Name: "bound", Handler: echo},
		Typed(Operation{Name: "typed"}, func(context.Context, *Call, chan int) (int, error) { return 0, nil }),
		Typed[int, int](Operation{Name: "nil"}, nil),
	}, &Options{Handlers: map[string]Handler{"bound": echo, "extra": echo}})
	if err == nil {
		t.Fatal("built")
	}
	lines := strings.Split(err.Error(), "\n")
	for i, want := range []string{
		`operation "ok": the name is taken`,
		`operation "rpc.mine": operation name "rpc.mine" is reserved`,
		`app.yaml:3:5: operation "no handler": operation name`,
		`app.yaml:3:5: operation "no handler": it has no handler`,
		`operation "limits": timeout -1ns is out of range`,
		`operation "limits": max_output 67108865 is out of range`,
		`operation "narrow": its effects (none) don't cover those of tool s/t: add mutation`,
		`operation "schema", params: the schema is invalid`,
		`operation "schema", result: the schema is invalid`,
		`operation "bound": it has a handler already`,
		`operation "typed": no schema can be derived`,
		`operation "nil": it has no handler`,
		`operation "nil": its function is nil`,
		`operation "extra": a handler is bound to it`,
	} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d:\n got %v\nwant %s", i, lines[min(i, len(lines)-1)], want)
		}
	}
}

func TestCatalogIsOrdered(t *testing.T) {
	r, _ := build(t, Operation{Name: "b", Handler: echo}, Operation{Name: "a.z", Handler: echo}, Operation{Name: "a", Handler: echo})
	var got []string
	for _, op := range r.Operations() {
		got = append(got, op.Name)
	}
	if diff := cmp.Diff([]string{"a", "a.z", "b"}, got); diff != "" {
		t.Error(diff)
	}
	if _, found := r.Lookup("A"); found {
		t.Error("names fold case")
	}
	if op, found := r.Lookup("a.z"); !found || op.Name != "a.z" {
		t.Error("not found")
	}
	slices.Reverse(r.Operations())
	if r.Operations()[0].Name != "a" {
		t.Error("the catalog can be changed from outside")
	}
}

func TestSchemas(t *testing.T) {
	const tree = `{"$defs":{"node":{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#/$defs/node"}}}}},"$ref":"#/$defs/node"}`
	for _, test := range []struct{ name, schema, want string }{
		{"tree", tree, ""},
		{"itself", `{"$ref":"#"}`, "never ends"},
		{"two steps", `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"allOf":[{"$ref":"#/$defs/a"}]}},"properties":{"x":{"$ref":"#/$defs/a"}}}`, "never ends"},
		{"in anyOf", `{"anyOf":[{"type":"null"},{"$ref":"#"}]}`, "never ends"},
		{"dependent", `{"dependentSchemas":{"x":{"$ref":"#"}}}`, "never ends"},
		{"dynamic", `{"$dynamicAnchor":"m","$dynamicRef":"#m"}`, "never ends"},
		{"remote", `{"$ref":"https://example.org/s.json"}`, "not fetched"},
		{"file", `{"$ref":"file:///etc/passwd"}`, "not fetched"},
		{"dangling", `{"$ref":"#/$defs/none"}`, "invalid"},
		{"duplicate", `{"type":"object","type":"array"}`, "stands twice"},
		{"not JSON", `{`, "invalid"},
		{"wrong form", `7`, "invalid"},
		{"huge number", `{"maximum":1e999999999}`, "at /maximum: the number takes more than 400 digits"},
		{"tiny number", `{"properties":{"a/b":{"multipleOf":1e-400}}}`, "at /properties/a~1b/multipleOf: the number takes more than 400 digits"},
		{"only a huge number", `1e400`, "invalid: the number takes more than 400 digits"},
		{"zero", `{"minimum":0e999999999999}`, ""},
		{"true", `true`, ""},
	} {
		_, err := New([]Operation{{Name: "op", Handler: echo, Params: json.RawMessage(test.schema)}}, nil)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

func TestSchemaProblems(t *testing.T) {
	const types = "value must be one of 'array', 'boolean', 'integer', 'null', 'number', 'object', 'string'"
	for _, test := range []struct{ schema, want string }{
		{`{"type":"nothing"}`, "at /type: " + types},
		{`{"type":5}`, "at /type: " + types},
		{`{"type":["a","string",1]}`, "at /type/0: " + types + "; at /type/2: " + types},
		{`{"type":[]}`, "at /type: minItems: got 0, want 1"},
		{`{"type":["null","null"]}`, "at /type: items at 0 and 1 are equal"},
		{`{"properties":{"x":{"type":"y","minimum":"1"}}}`, "at /properties/x/minimum: got string, want number; at /properties/x/type: " + types},
		{`{"required":"x"}`, "at /required: got string, want array"},
		{`{"pattern":"("}`, "at /pattern: '(' is not valid regex: error parsing regexp: missing closing ): `(`"},
		{`7`, "got number, want boolean or object"},
		{`{"$ref":"#/none"}`, `json-pointer in "#/none" not found`},
	} {
		at := effects.Position{File: "f", Line: 2, Column: 3}
		_, err := New([]Operation{{Name: "op", Handler: echo, Params: json.RawMessage(test.schema), ParamsAt: at}}, nil)
		unbuilt, ok := errors.AsType[*BuildError](err)
		if !ok {
			t.Errorf("%s: %v", test.schema, err)
			continue
		}
		want := []Problem{{Operation: "op", Key: "params", At: at, Message: "the schema is invalid: " + test.want}}
		if diff := cmp.Diff(want, unbuilt.Problems); diff != "" {
			t.Errorf("%s\n%s", test.schema, diff)
		}
	}
}

// What a schema says against an object or the name of a member tells which one it is.
func TestObjectProblems(t *testing.T) {
	r, _ := build(t, Operation{Name: "op", Handler: echo, Params: json.RawMessage(`{
		"properties": {
			"closed": {"properties": {"known/": {"additionalProperties": false}}, "additionalProperties": false},
			"matched": {"patternProperties": {"^x": {}}, "additionalProperties": false},
			"list": {"items": {"unevaluatedProperties": false}},
			"never": false,
			"short": {"propertyNames": {"maxLength": 2}},
			"unnamed": {"propertyNames": false},
			"deep": {"additionalProperties": {"propertyNames": {"pattern": "^[a-z]+$"}}}
		}}`)})
	for _, test := range []struct{ params, path, message string }{
		{`{"closed":{"x":1,"known/":{}}}`, "/closed", "additional properties 'x' not allowed"},
		{`{"closed":{"known/":{"y":{}}}}`, "/closed/known~1", "additional properties 'y' not allowed"},
		{`{"matched":{"xy":1,"yx":1}}`, "/matched", "additional properties 'yx' not allowed"},
		{`{"list":[{},{"z":1}]}`, "/list/1/z", "nothing may stand here: leave it out"},
		{`{"never":null}`, "/never", "nothing may stand here: leave it out"},
		{`{"short":{"ab":1,"abc":1},"a":{"b":"abc"}}`, "/short", "the name 'abc' is not allowed: maxLength: got 3, want 2"},
		{`{"short":{"abc":1},"a":{"abc":1}}`, "", "the name 'abc' is not allowed: maxLength: got 3, want 2"},
		{`{"unnamed":{"\u0061":1}}`, "/unnamed", "the name 'a' is not allowed"},
		{`{"deep":{"o/1":{"A":0},"o2":{"a":0},"o3":{"a":0}}}`, "/deep/o~11", "the name 'A' is not allowed: 'A' does not match pattern '^[a-z]+$'"},
	} {
		_, err := invoke(t, r, "op", test.params, effects.Authority{})
		wantKind(t, err, KindInvalidParams)
		if diff := cmp.Diff([]ParamProblem{{Path: test.path, Message: test.message}}, err.Problems); diff != "" {
			t.Errorf("%s\n%s", test.params, diff)
		}
	}
}

func TestParameters(t *testing.T) {
	r, _ := build(t,
		Operation{Name: "object", Handler: echo, Params: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740992},"s":{"type":"string"}}}`)},
		Operation{Name: "needs", Handler: echo, Params: json.RawMessage(`{"type":"object","required":["n"]}`)},
		Operation{Name: "list", Handler: echo, Params: json.RawMessage(`{"type":"array","items":{"type":"number"}}`)},
		Operation{Name: "any", Handler: echo},
	)
	for _, test := range []struct {
		operation, params, path string
		ok                      bool
	}{
		{"object", "", "", true},
		{"object", `{"n":1}`, "", true},
		{"object", `{"n":9007199254740993}`, "/n", false},
		{"object", `{"n":1.0}`, "", true},
		{"object", `{"s":5}`, "/s", false},
		{"object", `[1]`, "", false},
		{"object", `{"n":1e999999999}`, "/n", false},
		{"needs", "", "", false},
		{"list", "", "", true},
		{"list", `[1,2]`, "", true},
		{"list", `[1,"2"]`, "/1", false},
		{"any", `{"a":{"b":1,"b":2}}`, "/a/b", false},
		{"any", `{"a":1,"\u0061":2}`, "/a", false},
		{"any", `null`, "", false},
		{"any", `"x"`, "", false},
		{"any", ``, "", true},
		{"any", ` [ ] `, "", true},
		{"any", `{"a":1e999999999}`, "", true},
	} {
		_, err := invoke(t, r, test.operation, test.params, effects.Authority{})
		if test.ok {
			if err != nil {
				t.Errorf("%s %s: %v", test.operation, test.params, err)
			}
			continue
		}
		wantKind(t, err, KindInvalidParams)
		if err.Problems[0].Path != test.path || err.Problems[0].Message == "" {
			t.Errorf("%s %s: %+v", test.operation, test.params, err.Problems)
		}
	}
}

func TestCrowdedParameters(t *testing.T) {
	r, _ := build(t,
		Operation{Name: "list", Handler: returns("1", nil), Params: json.RawMessage(`{"items":{"type":"number"}}`)},
		Operation{Name: "object", Handler: returns("1", nil), Params: json.RawMessage(` {"type": "object"} `)},
		Operation{Name: "raw", Handler: returns("1", nil)})
	numbers := strings.Repeat("1,", 200_000) + "1"
	text := `["` + strings.Repeat(`,[{\"`, 100_000) + `"]`
	for _, test := range []struct {
		operation, params string
		kind              Kind
	}{
		{"list", "[" + numbers + "]", KindInvalidParams},
		{"list", text, KindInvalidParams},
		{"list", "[" + numbers[:100_001] + "]", ""},
		{"object", `{"x":[` + numbers + "]}", ""},
		{"object", `[1]`, KindInvalidParams},
		{"raw", "[" + numbers + "]", ""},
	} {
		_, err := invoke(t, r, test.operation, test.params, effects.Authority{})
		if (err == nil) != (test.kind == "") || err != nil && err.Kind != test.kind {
			t.Errorf("%s %.20s...: %v", test.operation, test.params, err)
		}
	}
	if crowded(json.RawMessage(text)) {
		t.Error("commas in a string count as values")
	}
}

func TestEveryWrongPathIsTold(t *testing.T) {
	r, _ := build(t, Operation{Name: "op", Handler: echo, Params: json.RawMessage(
		`{"type":"object","required":["a"],"properties":{"b":{"type":"string"},"c":{"items":{"type":"integer"}}},"additionalProperties":false}`)})
	_, err := invoke(t, r, "op", `{"b":1,"c":[1,"2",3.5],"d":0}`, effects.Authority{})
	wantKind(t, err, KindInvalidParams)
	var paths []string
	for _, p := range err.Problems {
		paths = append(paths, p.Path)
	}
	slices.Sort(paths)
	if diff := cmp.Diff([]string{"", "", "/b", "/c/1", "/c/2"}, paths); diff != "" {
		t.Errorf("%s %+v", diff, err.Problems)
	}
	many := `{"c":["` + strings.Repeat(`","`, 500) + `"]}`
	_, err = invoke(t, r, "op", many, effects.Authority{})
	wantKind(t, err, KindInvalidParams)
	if len(err.Problems) != maxProblems+1 {
		t.Errorf("%d problems", len(err.Problems))
	}
}

func TestCompiledLimits(t *testing.T) {
	for _, d := range []time.Duration{time.Nanosecond, MaxTimeout} {
		if _, err := New([]Operation{{Name: "op", Handler: echo, Timeout: d}}, nil); err != nil {
			t.Error(err)
		}
	}
	if _, err := New([]Operation{{Name: "op", Handler: echo, Timeout: MaxTimeout + 1}}, nil); err == nil {
		t.Error("more than the largest timeout")
	}
}
