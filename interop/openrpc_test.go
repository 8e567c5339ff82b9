package interop

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What rpc.discover says can be read by OpenRPC's own tools, and every call that they make
// up from it is answered as it says.
func TestOpenRPC(t *testing.T) {
	p := need(t)
	s := serve(t, p, "{address: \"http://127.0.0.1:0/rpc\", anonymous: true}")
	steps, _ := play(t, p, "coverage.cjs", map[string]any{"url": s.address(t)})
	document := steps["document"].Value
	checkDocument(t, metaSchema(t, p), document)
	var names []string
	if err := json.Unmarshal(steps["parsed"].Value, &names); err != nil {
		t.Errorf("OpenRPC's own tools can't read the document: %s", steps["parsed"].Message)
	}
	// The anonymous caller may reach note.add by its name, and not with its effects.
	if want := []string{"demo.echo", "demo.sum", "demo.weather"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	delete(steps, "document")
	delete(steps, "parsed")
	checkCoverage(t, steps, names)
	if t.Failed() {
		t.Logf("%s", document)
	}
}

func checkCoverage(t *testing.T, steps map[string]step, names []string) {
	t.Helper()
	calls := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(steps)) {
		var call struct {
			Valid  bool
			Result json.RawMessage
		}
		if err := json.Unmarshal(steps[name].Value, &call); err != nil {
			t.Fatal(err)
		}
		if !call.Valid || len(call.Result) == 0 {
			t.Errorf("%s: %s", name, steps[name].Value)
		}
		operation, _, _ := strings.Cut(name, " ")
		calls[operation]++
	}
	t.Logf("calls: %v", calls)
	for _, name := range names {
		if calls[name] == 0 {
			t.Errorf("%s was not called", name)
		}
	}
}

// metaSchema compiles the official meta-schema of OpenRPC documents.
func metaSchema(t *testing.T, p *peers) *jsonschema.Schema {
	t.Helper()
	steps, _ := play(t, p, "schemas.cjs", nil)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft7)
	for _, r := range []struct{ address, step string }{
		{"https://meta.json-schema.tools/", "json schema"}, {"https://meta.json-schema.tools", "json schema"}, {"https://meta.open-rpc.org/", "openrpc"},
	} {
		schema := decode(t, steps[r.step].Value).(map[string]any)
		delete(schema, "$schema") // names a dialect of its own that is draft 7 in all but its name
		delete(schema, "$id")
		if err := c.AddResource(r.address, schema); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := c.Compile("https://meta.open-rpc.org/")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func checkDocument(t *testing.T, schema *jsonschema.Schema, document []byte) {
	t.Helper()
	if err := schema.Validate(decode(t, document)); err != nil {
		t.Error(err)
	}
	broken := decode(t, document).(map[string]any)
	broken["methods"] = append(broken["methods"].([]any), map[string]any{"name": "no params"})
	if schema.Validate(broken) == nil {
		t.Error("the meta-schema accepts a method without parameters")
	}
}

func decode(t *testing.T, text []byte) any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value
}
