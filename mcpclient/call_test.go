package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/mcpclient/mcptest"
	"github.com/cupule/cupule/registry"
)

// witness keeps the events that it is told of.
type witness struct {
	mu     sync.Mutex
	events []registry.Event
}

func (w *witness) Observe(_ context.Context, e registry.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

func (w *witness) lines() (list []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		line := e.Subject.String() + ": " + e.Outcome()
		if e.IsError {
			line += ", isError"
		}
		list = append(list, line)
	}
	return list
}

func TestEvents(t *testing.T) {
	w := &witness{}
	script := mcptest.Good()
	script.Tools = append(script.Tools, mcptest.Tool{Name: "fail", IsError: true})
	s := scriptedServer(t, false, script, rule("echo"), rule("fail"), rule("write", effects.Mutation))
	s.Resources, s.Prompts = rules(rule("docs://readme")), rules(rule("repeat"))
	c, err := New(&config.Config{MCP: map[string]*config.Server{"lib": s.Server}}, &Options{Observer: w})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := t.Context()
	_, _ = c.CallTool(ctx, "lib", "echo", json.RawMessage(`{"a":1}`), nobody)
	_, _ = c.CallTool(ctx, "lib", "fail", nil, nobody)
	_, _ = c.CallTool(ctx, "lib", "write", nil, nobody)
	_, _ = c.CallTool(ctx, "lib", "nothing", nil, nobody)
	_, _ = c.CallTool(ctx, "nowhere", strings.Repeat("x", 10_000), nil, nobody)
	_, _ = c.CallTool(ctx, "lib", "echo", json.RawMessage(`[]`), nobody)
	_, _ = c.ReadResource(ctx, "lib", "docs://readme", nobody)
	_, _ = c.ReadResource(ctx, "lib", "docs://other", nobody)
	_, _ = c.GetPrompt(ctx, "lib", "repeat", nil, nobody)
	want := []string{
		"tool lib/echo: ok", "tool lib/fail: ok, isError", "tool lib/write: denied", "tool lib/nothing: method_not_found",
		"tool nowhere/" + strings.Repeat("x", maxName-8) + "...: method_not_found", "tool lib/echo: invalid_params",
		"resource lib/docs://readme: ok", "resource lib/docs://other: method_not_found", "prompt lib/repeat: ok",
	}
	if diff := cmp.Diff(want, w.lines()); diff != "" {
		t.Error(diff)
	}
	if e := w.events[0]; e.ParamsBytes != 7 || e.ResultBytes == 0 || e.Duration <= 0 || e.Started.IsZero() {
		t.Errorf("%+v", e)
	}
}

func TestArguments(t *testing.T) {
	for in, want := range map[string]string{
		"": "{}", "  ": "{}", `{"a":1}`: `{"a":1}`, " {} ": "{}", `{"a":{"b":[1]}}`: `{"a":{"b":[1]}}`,
		"null": "want an object, not null", "[1]": "want an object, not an array", `"x"`: "want an object, not a string",
		`{"a":1,"a":2}`: "this key stands twice in its object", `{"a":{"b":1,"\u0062":2}}`: "this key stands twice in its object",
		`{"a":}`: "want valid JSON: at byte 5: a value is missing", "{}{}": "want valid JSON: at byte 2: something follows the JSON text",
		strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200): "want valid JSON: at byte 640: arrays and objects are nested too deep",
	} {
		got, err := checkArguments(json.RawMessage(in))
		if err == nil {
			if string(got) != want {
				t.Errorf("%s: %s", in, got)
			}
			continue
		}
		e := asError(err)
		if e.Kind != registry.KindInvalidParams || len(e.Problems) != 1 || e.Problems[0].Message != want {
			t.Errorf("%.60s: %v", in, err)
		}
	}
}

// TestDeniedStartsNothing denies on both grounds, and reads no variable.
func TestDeniedStartsNothing(t *testing.T) {
	child := scriptedServer(t, false, mcptest.Good(), rule("echo", effects.NetworkRead, effects.Mutation))
	child.Stdio.Env = map[string]string{"A": "B"}
	web := scriptedServer(t, true, mcptest.Good(), rule("echo"))
	web.Resources, web.Prompts = rules(rule("docs://*", effects.Inference)), rules(rule("repeat", effects.Process))
	c, err := New(&config.Config{MCP: map[string]*config.Server{"child": child.Server, "web": web.Server}}, &Options{
		LookupEnv: func(name string) (string, bool) { t.Errorf("%s was read", name); return "", false },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, offline := t.Context(), nobody.WithOffline()
	_, err = c.CallTool(ctx, "child", "echo", json.RawMessage("not JSON"), offline)
	if e := wantKind(t, err, registry.KindDenied, registry.NotSent); len(e.Reasons) != 2 {
		t.Errorf("%v", e.Reasons)
	}
	for what, call := range map[string]func() error{
		"tool":     func() error { _, err := c.CallTool(ctx, "web", "echo", nil, offline); return err },
		"resource": func() error { _, err := c.ReadResource(ctx, "web", "docs://readme", nobody); return err },
		"prompt":   func() error { _, err := c.GetPrompt(ctx, "web", "repeat", nil, nobody); return err },
		"list":     func() error { _, err := c.ListTools(ctx, "web", offline); return err },
		"session":  func() error { _, err := c.Connect(ctx, "web", offline); return err },
		"check":    func() error { _, err := c.Check(ctx, "web", offline); return err },
		"level":    func() error { return c.servers["web"].shared().SetLogLevel(ctx, "info", offline) },
		"in a session": func() error {
			_, err := c.servers["web"].shared().CallTool(ctx, "echo", nil, offline)
			return err
		},
		"resources": func() error { _, err := c.ListResources(ctx, "web", offline); return err },
	} {
		if e := asError(call()); e.Kind != registry.KindDenied || e.Ran != registry.NotSent || len(e.Reasons) == 0 {
			t.Errorf("%s: %v", what, e)
		}
	}
	if tools, err := c.ListTools(ctx, "child", nobody); len(tools) != 0 || err != nil {
		t.Errorf("%v %v", tools, err)
	}
	if n := len(child.record()) + len(web.record()); n != 0 {
		t.Errorf("%d things came to the servers", n)
	}
}

func TestMostSpecificPatternWins(t *testing.T) {
	list := rules(rule("docs://*"), rule("docs://secret/*", effects.Mutation), rule("docs://secret/open"))
	for uri, want := range map[string]string{
		"docs://a": "docs://*", "docs://secret/x": "docs://secret/*", "docs://secret/open": "docs://secret/open", "docs://secret/": "docs://secret/*",
	} {
		if got := closest(list, uri); got == nil || got.Name != want {
			t.Errorf("%s falls under %+v", uri, got)
		}
	}
	if got := closest(list, "file:///etc/passwd"); got != nil {
		t.Errorf("%+v", got)
	}
}

// TestSmallestLimit says whose limit a large result ran into.
func TestSmallestLimit(t *testing.T) {
	script := mcptest.Good()
	script.Tools = append(script.Tools, mcptest.Tool{Name: "big", Size: 5000})
	s := scriptedServer(t, false, script, rule("big"))
	s.Allowed["big"].MaxOutput = 4000
	c := newClient(t, map[string]*config.Server{"lib": s.Server})
	reg, err := registry.New([]registry.Operation{
		c.Proxy(registry.Operation{Name: "small", MaxOutput: 1000}, "lib", "big"), c.Proxy(registry.Operation{Name: "large"}, "lib", "big"),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	caller := effects.NewInvocation(effects.Authority{Principal: "dashboard", MaxOutput: 2000})
	for _, row := range []struct {
		operation string
		inv       effects.Invocation
		whose     string
		bytes     int64
	}{
		{"", nobody, "tool lib/big", 4000},
		{"", caller, "caller dashboard", 2000},
		{"large", nobody, "tool lib/big", 4000},
		{"large", caller, "caller dashboard", 2000},
		{"small", caller, "operation small", 1000},
	} {
		var err error
		if row.operation == "" {
			_, err = c.CallTool(t.Context(), "lib", "big", nil, row.inv)
		} else {
			_, err = reg.Invoke(t.Context(), registry.Request{Operation: row.operation, Invocation: row.inv})
		}
		e := wantKind(t, err, registry.KindOutputTooLarge, registry.Completed)
		if e.Limit.Whose != row.whose || e.Limit.Bytes != row.bytes || e.Limit.Name != "max_output" {
			t.Errorf("%+v: %+v", row, e.Limit)
		}
	}
}

func TestProxy(t *testing.T) {
	raw := `{"content":[{"type":"text","text":"x"}], "isError":true,"structuredContent":{"b":1,"a":9007199254740993,"u":1.0}}`
	script := mcptest.Script{Speaks: mcptest.Legacy, Tools: []mcptest.Tool{{Name: "odd", Result: json.RawMessage(raw)}}}
	s := scriptedServer(t, false, script.With(call(mcptest.Progress)...), rule("odd", effects.NetworkRead))
	c := newClient(t, map[string]*config.Server{"lib": s.Server})
	op := c.Proxy(registry.Operation{Name: "odd.call"}, "lib", "odd")
	if op.Effects != effects.NewSet(effects.NetworkRead) || op.Upstream.Transport != effects.Stdio || string(op.Params) != string(anyObject) {
		t.Errorf("%+v", op)
	}
	reg, err := registry.New([]registry.Operation{op}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var seen []registry.Progress
	got, err := reg.Invoke(t.Context(), registry.Request{Operation: "odd.call", Progress: func(p registry.Progress) { seen = append(seen, p) }})
	if want := strings.ReplaceAll(raw, "], ", "],"); err != nil || string(got) != want {
		t.Errorf("%s %v", got, err)
	}
	if len(seen) != 3 {
		t.Errorf("progress %v", seen)
	}
	_, err = reg.Invoke(t.Context(), registry.Request{Operation: "odd.call", Invocation: nobody.WithOffline()})
	wantKind(t, err, registry.KindDenied, registry.NotSent)
	for _, broken := range []registry.Operation{
		c.Proxy(registry.Operation{Name: "a"}, "nowhere", "odd"), c.Proxy(registry.Operation{Name: "b"}, "lib", "nothing"),
		c.Proxy(registry.Operation{Name: "c", Effects: effects.NewSet(effects.Inference)}, "lib", "odd"),
	} {
		if _, err := registry.New([]registry.Operation{broken}, nil); err == nil {
			t.Errorf("%s was built", broken.Name)
		}
	}
}

// TestDeadlineOfTheContext reports the limit that the context carries.
func TestDeadlineOfTheContext(t *testing.T) {
	s := scriptedServer(t, false, mcptest.Good().With(call(mcptest.Silent)...), rule("echo"))
	s.Session.Shared = true
	c := newClient(t, map[string]*config.Server{"lib": s.Server})
	if _, err := c.Connect(t.Context(), "lib", nobody); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := withTimeout(t.Context(), 50*time.Millisecond, "timeout", "operation x")
	defer cancel()
	_, err := c.CallTool(ctx, "lib", "echo", nil, nobody)
	if e := wantKind(t, err, registry.KindTimeout, registry.Sent); e.Limit.Whose != "operation x" || e.Limit.Seconds != 0.05 {
		t.Errorf("%+v", e.Limit)
	}
	plain, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = c.CallTool(plain, "lib", "echo", nil, nobody)
	if e := wantKind(t, err, registry.KindTimeout, registry.Sent); e.Limit.Name != "deadline" || e.Limit.Whose != "caller" {
		t.Errorf("%+v", e.Limit)
	}
	over, end := context.WithCancelCause(t.Context())
	end(errors.New("enough"))
	_, err = c.CallTool(over, "lib", "echo", nil, nobody)
	wantKind(t, err, registry.KindCancelled, registry.NotSent)
}

func TestContradiction(t *testing.T) {
	mutation, none := effects.NewSet(effects.Mutation), effects.Set(0)
	for _, row := range []struct {
		annotations string
		declared    effects.Set
		want        string
	}{
		{`{}`, none, ""}, {`{}`, mutation, ""},
		{`{"readOnlyHint":true}`, none, ""}, {`{"readOnlyHint":true}`, mutation, "readOnlyHint: true"},
		{`{"readOnlyHint":false}`, none, "readOnlyHint: false"}, {`{"readOnlyHint":false}`, mutation, ""},
		{`{"destructiveHint":true}`, none, "destructiveHint: true"}, {`{"destructiveHint":true,"readOnlyHint":true}`, none, ""},
		{`{"destructiveHint":false}`, none, ""},
	} {
		got := contradiction(json.RawMessage(`{"name":"x","annotations":`+row.annotations+`}`), row.declared)
		if !strings.Contains(got, row.want) || (got == "") != (row.want == "") {
			t.Errorf("%s, declared %s: %q", row.annotations, row.declared, got)
		}
	}
}

// TestCheckFindings looks at a server with one of every problem.
func TestCheckFindings(t *testing.T) {
	script := mcptest.Script{Tools: []mcptest.Tool{
		{Name: "good"}, {Name: "twice"}, {Name: "twice"}, {Name: "liar", Annotations: json.RawMessage(`{"readOnlyHint":true}`)},
		{Name: "bad", Definition: json.RawMessage(`{"name":"bad","inputSchema":7}`)},
		{Name: "dup", Definition: json.RawMessage(`{"name":"dup","inputSchema":{"type":"object","type":"array"}}`)},
	}}
	s := scriptedServer(t, false, script, rule("good"), rule("twice"), rule("liar", effects.Mutation), rule("bad"), rule("dup"), rule("gone"))
	c := newClient(t, map[string]*config.Server{"lib": s.Server})
	h, err := c.Check(t.Context(), "lib", nobody)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range h.Findings {
		got = append(got, f.Subject.Name+" "+string(f.Problem))
	}
	want := []string{"lib/bad malformed", "lib/dup malformed", "lib/gone missing", "lib/liar contradicted", "lib/twice ambiguous"}
	if diff := cmp.Diff(want, got); diff != "" || h.Usable != 2 || h.Advertised != 6 {
		t.Errorf("%s %+v", diff, h)
	}
	if _, err := New(nil, nil); err == nil {
		t.Error("a client without configuration")
	}
	if _, err := New(&config.Config{MCP: map[string]*config.Server{"x": {}}}, nil); err == nil {
		t.Error("a server without transport")
	}
}
