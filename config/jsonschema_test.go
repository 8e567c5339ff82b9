package config

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"
)

// compiled returns the schema as a validator that nobody here wrote sees it.
func compiled(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("cupule.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("cupule.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// validate checks YAML the way an editor does: as the JSON that it stands for.
func validate(t testing.TB, schema *jsonschema.Schema, text []byte) error {
	t.Helper()
	var tree any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(doc)
}

func TestSchemaAccepts(t *testing.T) {
	schema := compiled(t)
	example, err := os.ReadFile("../examples/app.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"examples/app.yaml": example,
		"sample":            sample(t),
		"empty":             []byte("{}"),
		"warned":            []byte(warned),
	} {
		if _, err := Parse(name, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := validate(t, schema, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What the schema can say it does say: Parse and an editor refuse the same.
func TestSchemaRefuses(t *testing.T) {
	schema := compiled(t)
	const server = "mcp: {a: {stdio: {command: x}, "
	for _, text := range []string{
		"[]", "mcp: null", "mpc: {}", "mcp: []", "mcp: {A: {stdio: {command: x}}}", "mcp: {a: {}}", "mcp: {a: {stdio: {command: x}, http: {url: 'https://x.org'}}}",
		"mcp: {a: {stdio: {}}}", "mcp: {a: {stdio: {command: ''}}}", "mcp: {a: {stdio: {command: 5}}}", "mcp: {a: {stdio: {command: x, args: [null]}}}",
		"mcp: {a: {stdio: {command: x, args: [5]}}}", "mcp: {a: {stdio: {command: x, args: [ghp_abcdefghijkl]}}}", "mcp: {a: {stdio: {command: x, env: {A: a b}}}}",
		"mcp: {a: {stdio: {command: x, env: {'9': B}}}}", "mcp: {a: {stdio: {command: x, env: {A: ghp_abcdefghijkl}}}}", "mcp: {a: {http: {}}}", "mcp: {a: {http: {url: ftp://x}}}",
		"mcp: {a: {http: {url: 'https://u:p@x.org'}}}", "mcp: {a: {http: {url: 'https://x.org/#a'}}}", "mcp: {a: {http: {url: 'https://x.org', headers_env: {'a b': A}}}}",
		server + "alowed: {}}}", server + "allowed: {t: {}}}}", server + "allowed: {t: {effects: null}}}}", server + "allowed: {t: {effects: [x]}}}}",
		server + "allowed: {t: {effects: [mutation, mutation]}}}}", server + "allowed: {'': {effects: []}}}}", server + "allowed: {t: {effects: [], timeout: '30'}}}}",
		server + "allowed: {t: {effects: [], timeout: 0}}}}", server + "allowed: {t: {effects: [], timeout: -1}}}}", server + "allowed: {t: {effects: [], timeout: 3601}}}}",
		server + "allowed: {t: {effects: [], max_output: 5}}}}", server + "allowed: {t: {effects: [], max_output: '5'}}}}", server + "allowed: {t: {effects: [], max_output: 1e}}}}",
		server + "startup: 601}}", server + "protocol: '2020-01-01'}}", server + "concurrency: 0}}", server + "concurrency: 1.5}}", server + "concurrency: 1025}}",
		server + "session: {warm: 65}}}", server + "session: {idle: 5}}}", server + "session: {shared: 1}}}",
		"operations: {a: {}}", "operations: {a..b: {effects: []}}", "operations: {a: {effects: [], params: []}}", "operations: {a: {effects: [], params: null}}",
		"callers: {a: {authorize: [process]}}", "callers: {a: {offline: 'yes'}}", "callers: {a: {operations: [a*b]}}", "callers: {a: {operations: ['']}}",
		"callers: {a: {operations: [a, a]}}", "callers: {a: {token_env: a-b}}", "callers: {a: null}",
		"serve: {listen: stdio}", "serve: {listen: [foo]}", "serve: {listen: [5]}", "serve: {listen: [{tls: {}}]}", "serve: {listen: [{address: stdio, x: y}]}",
		"serve: {listen: [{address: 'https://127.0.0.1:1', tls: {certificate: a}}]}",
	} {
		if err := validate(t, schema, []byte(text)); err == nil {
			t.Errorf("the schema accepts %s", text)
		}
		if _, err := Parse("f", []byte(text)); err == nil {
			t.Errorf("Parse accepts %s", text)
		}
	}
}

// The schema never refuses what Parse accepts.
func TestSchemaIsNoStricter(t *testing.T) {
	schema := compiled(t)
	for _, text := range []string{
		"mcp: {a: {stdio: {command: x, args: ['', \"a\\nb\"], env: {}, dir: /}, session: {warm: 1, idle: 0.5}, allowed: {}}}",
		"mcp: {a: {http: {url: 'HTTPS://X.org', headers_env: {X-A: _a1}}, resources: {'*': {effects: []}}}}",
		"mcp: {a: {http: {url: 'http://[::1]:80/?a=b'}}}", "operations: {a: {effects: [], params: true, result: {}}}",
		"callers: {local: {}, a: {operations: ['*', a.*, a-*, a.b]}}", "serve: {}", "serve: {listen: []}",
		"serve: {listen: [stdio, 'unix:x', {address: 'HTTP://127.0.0.1:1', anonymous: true}]}",
	} {
		if _, err := Parse("f", []byte(text)); err != nil {
			t.Errorf("Parse: %v", err)
		}
		if err := validate(t, schema, []byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
