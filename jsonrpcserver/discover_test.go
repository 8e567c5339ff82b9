package jsonrpcserver

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what tests got as what they want")

func nothing(context.Context, *registry.Call) (json.RawMessage, error) { return nil, nil }

// described are operations whose parameters are described in each of the ways.
func described() []registry.Operation {
	type tree struct {
		Name string `json:"name" jsonschema:"what it is called"`
		Size int    `json:"size,omitempty"`
	}
	list := []registry.Operation{
		{Name: "any", Description: "Takes anything.", Handler: nothing},
		{Name: "tuple", Params: json.RawMessage(`{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"minItems":1}`), Handler: nothing},
		{Name: "list", Params: json.RawMessage(`{"type":"array","items":{"type":"number"}}`), Handler: nothing},
		{Name: "named", Params: json.RawMessage(`{"type":"object","properties":{"late":{"type":"string"},"first":{"type":"boolean"}},"required":["first"]}`),
			Result: json.RawMessage(`{"type":"string"}`), Handler: nothing},
		{Name: "open", Params: json.RawMessage(`{"type":"object","minProperties":1}`), Handler: nothing},
		{Name: "recursive", Handler: nothing,
			Params: json.RawMessage(`{"type":"object","properties":{"a/b":{"$ref":"#/$defs/node"}},"$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"}}}}}`)},
		registry.Typed(registry.Operation{Name: "typed", Effects: effects.NewSet(effects.NetworkRead)},
			func(context.Context, *registry.Call, tree) (int, error) { return 0, nil }),
		{Name: "writes", Effects: effects.NewSet(effects.Mutation), Handler: nothing},
		{Name: "thinks", Effects: effects.NewSet(effects.Inference), Handler: nothing},
		{Name: "tool", Effects: effects.NewSet(effects.NetworkRead, effects.Mutation), Handler: nothing,
			Upstream: &registry.Upstream{Server: "s", Tool: "t", Effects: effects.NewSet(effects.Mutation), Transport: effects.StreamableHTTP}},
	}
	return list
}

func discoverOn(t *testing.T, s *Server, conn *ConnOptions, authenticate string) string {
	t.Helper()
	c := serve(t, s, conn, false)
	if authenticate != "" {
		c.send(authenticate)
		if got, err := c.receive(hang); err != nil || !strings.Contains(got, "caller") {
			t.Fatal(got, err)
		}
	}
	c.send(`{"jsonrpc":"2.0","method":"rpc.discover","id":1}`)
	got, err := c.receive(hang)
	if err != nil {
		t.Fatal(err)
	}
	var reply struct{ Result json.RawMessage }
	if err := json.Unmarshal([]byte(got), &reply); err != nil || reply.Result == nil {
		t.Fatal(got, err)
	}
	return string(reply.Result)
}

func methodNames(t *testing.T, document string) []string {
	t.Helper()
	var doc struct{ Methods []struct{ Name string } }
	if err := json.Unmarshal([]byte(document), &doc); err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, m := range doc.Methods {
		names = append(names, m.Name)
	}
	return names
}

func discoverServer(t *testing.T) *Server {
	t.Helper()
	reg, err := registry.New(described(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return newServer(t, Backend{Registry: reg, Callers: []Caller{
		{Name: "writer", Token: token("writer"), Authority: effects.Authority{Authorized: effects.NewSet(effects.Mutation)}},
		{Name: "offline", Token: token("offline"), Authority: effects.Authority{Authorized: effects.NewSet(effects.Mutation, effects.Inference), Offline: true}},
		{Name: "few", Token: token("few"), Authority: effects.Authority{Operations: []effects.Pattern{"t*"}, MaxOutput: 5000, Timeout: 1500000000}},
		{Name: "none", Token: token("none"), Authority: effects.Authority{Operations: []effects.Pattern{}}},
		{Name: "tiny", Token: token("tiny"), Authority: effects.Authority{MaxOutput: 100}},
	}}, &Options{Title: "Trees", Version: "1.2.3"})
}

// TestDiscover: the document holds exactly what the caller may use.
func TestDiscover(t *testing.T) {
	s := discoverServer(t)
	plain := []string{"any", "list", "named", "open", "recursive", "tuple", "typed"}
	for caller, want := range map[string][]string{
		"":        plain,
		"writer":  {"any", "list", "named", "open", "recursive", "tool", "tuple", "typed", "writes"},
		"offline": {"any", "list", "named", "open", "recursive", "thinks", "tuple", "writes"},
		"few":     {"tuple", "typed"},
		"none":    {},
	} {
		authenticate := ""
		if caller != "" {
			authenticate = strings.ReplaceAll(authenticateAdmin, "admin-token", caller)
		}
		document := discoverOn(t, s, nil, authenticate)
		if diff := cmp.Diff(want, methodNames(t, document)); diff != "" {
			t.Errorf("%q: %s", caller, diff)
		}
		// What is listed may be called, and what isn't may not.
		c := serve(t, s, nil, false)
		if caller != "" {
			c.send(authenticate)
			_, _ = c.receive(hang)
		}
		for _, op := range described() {
			c.send(`{"jsonrpc":"2.0","method":"` + op.Name + `","id":1}`)
			got, err := c.receive(hang)
			if listed := strings.Contains(document, `"name":"`+op.Name+`"`); err != nil || listed == strings.Contains(got, "-32001") {
				t.Errorf("%q: %s is listed %v, and answers %s", caller, op.Name, listed, got)
			}
		}
	}
}

func TestDiscoverGolden(t *testing.T) {
	s := discoverServer(t)
	got := discoverOn(t, s, nil, strings.ReplaceAll(authenticateAdmin, "admin-token", "few"))
	got += "\n" + discoverOn(t, s, nil, "")
	var pretty strings.Builder
	for line := range strings.Lines(got) {
		var doc any
		if err := json.Unmarshal([]byte(line), &doc); err != nil {
			t.Fatal(err)
		}
		text, _ := json.MarshalIndent(doc, "", "  ")
		pretty.Write(append(text, '\n'))
	}
	const file = "testdata/discover.golden"
	if *update {
		if err := os.WriteFile(file, []byte(pretty.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), pretty.String()); diff != "" {
		t.Error(diff)
	}
}

func TestDiscoverParams(t *testing.T) {
	s := discoverServer(t)
	c := serve(t, s, nil, false)
	for params, want := range map[string]string{`{}`: "result", `[]`: "result", `[ ]`: "result", `[1]`: "-32602", `{"a":1}`: "-32602"} {
		c.send(`{"jsonrpc":"2.0","method":"rpc.discover","params":` + params + `,"id":1}`)
		if got, err := c.receive(hang); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %s %v", params, got, err)
		}
	}
	tiny := serve(t, s, nil, false)
	tiny.send(strings.ReplaceAll(authenticateAdmin, "admin-token", "tiny"))
	_, _ = tiny.receive(hang)
	tiny.call(`{"jsonrpc":"2.0","method":"rpc.discover","id":1}`, refused(-32005, "1"))
	other := serve(t, s, nil, false)
	other.call(`{"jsonrpc":"2.0","method":"rpc.other","id":1}`, refused(-32601, "1"))
}
