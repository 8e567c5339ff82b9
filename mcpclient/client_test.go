package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
)

func rule(name string, list ...effects.Effect) *config.Rule {
	return &config.Rule{Name: name, Effects: effects.NewSet(list...), Timeout: 10 * time.Second, MaxOutput: config.DefaultMaxOutput}
}

func rules(list ...*config.Rule) map[string]*config.Rule {
	m := map[string]*config.Rule{}
	for _, r := range list {
		m[r.Name] = r
	}
	return m
}

// childServer configures this test binary as a server of some kind.
func childServer(t testing.TB, kind string, list ...*config.Rule) *config.Server {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &config.Server{
		Stdio:   &config.Stdio{Command: exe, Env: map[string]string{serverVariable: "KIND_" + strings.ToUpper(kind), "TOKEN": "TOKEN"}},
		Startup: 5 * time.Second, Allowed: rules(list...),
	}
}

func lookup(name string) (string, bool) {
	if kind, ok := strings.CutPrefix(name, "KIND_"); ok {
		return strings.ToLower(kind), true
	}
	if name == "TOKEN" {
		return "s3cr3t-value", true
	}
	return "", false
}

func newClient(t testing.TB, servers map[string]*config.Server) *Client {
	t.Helper()
	c, err := New(&config.Config{MCP: servers}, &Options{LookupEnv: lookup})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func wantKind(t *testing.T, err error, kind registry.Kind, ran registry.Ran) *registry.Error {
	t.Helper()
	var e *registry.Error
	if !errors.As(err, &e) {
		t.Fatalf("want a *registry.Error of kind %s, got %v", kind, err)
	}
	if e.Kind != kind || e.Ran != ran {
		t.Fatalf("want %s, %s; got %s, %s: %v", kind, ran, e.Kind, e.Ran, e)
	}
	return e
}

func TestCallTool(t *testing.T) {
	for _, protocol := range []string{"", "2026-07-28", "2025-11-25", "2024-11-05"} {
		t.Run("protocol "+protocol, func(t *testing.T) {
			s := childServer(t, "sdk", rule("echo"), rule("raw"), rule("fail"), rule("slow"), rule("absent"))
			s.Protocol = protocol
			s.Allowed["slow"].Timeout = 2 * time.Second
			c := newClient(t, map[string]*config.Server{"lib": s})
			ctx := t.Context()
			var inv effects.Invocation
			r, err := c.CallTool(ctx, "lib", "echo", json.RawMessage(`{"text":"hi"}`), inv)
			if err != nil || r.IsError || !strings.Contains(string(r.Raw), `"hi"`) {
				t.Fatalf("%+v %v", r, err)
			}
			if typed, err := r.Typed(); err != nil || len(typed.Content) != 1 {
				t.Errorf("%+v %v", typed, err)
			}
			r, err = c.CallTool(ctx, "lib", "fail", json.RawMessage(`{"text":"hi"}`), inv)
			if err != nil || !r.IsError {
				t.Errorf("%+v %v", r, err)
			}
			exact := `{"n":9007199254740993, "b" :1.0,"a":2}`
			r, err = c.CallTool(ctx, "lib", "raw", json.RawMessage(exact), inv)
			if quoted, _ := json.Marshal(exact); err != nil || !strings.Contains(string(r.Raw), string(quoted)) {
				t.Errorf("%s %v", r.Raw, err)
			}
			_, err = c.CallTool(ctx, "lib", "absent", nil, inv)
			wantKind(t, err, registry.KindToolMissing, registry.NotSent)
			var seen []registry.Progress
			began := time.Now()
			_, err = c.Call(ctx, ToolCall{Server: "lib", Tool: "slow", Args: json.RawMessage(`{"text":""}`), Progress: func(p registry.Progress) { seen = append(seen, p) }})
			e := wantKind(t, err, registry.KindTimeout, registry.Sent)
			if e.Limit == nil || e.Limit.Whose != "tool lib/slow" || e.Phase != "call" || time.Since(began) > 2*time.Second+slack {
				t.Errorf("after %v: %+v", time.Since(began), e)
			}
			if len(seen) != 1 || seen[0] != (registry.Progress{Progress: 1, Total: 2, Message: "half"}) {
				t.Errorf("progress %v", seen)
			}
		})
	}
}

func TestCrash(t *testing.T) {
	c := newClient(t, map[string]*config.Server{"lib": childServer(t, "crash", rule("echo"))})
	_, err := c.CallTool(t.Context(), "lib", "echo", nil, effects.Invocation{})
	e := wantKind(t, err, registry.KindUnavailable, registry.NotSent)
	if !strings.Contains(e.Stderr, "no index: [redacted]") || !strings.Contains(e.Message, "exit status 3") || strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("%v; stderr %q", e, e.Stderr)
	}
}

func TestCancel(t *testing.T) {
	c := newClient(t, map[string]*config.Server{"lib": childServer(t, "sdk", rule("slow"))})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := c.Call(ctx, ToolCall{Server: "lib", Tool: "slow", Args: json.RawMessage(`{"text":""}`), Progress: func(registry.Progress) { cancel() }})
	wantKind(t, err, registry.KindCancelled, registry.Sent)
}

func TestListTools(t *testing.T) {
	s := childServer(t, "sdk", rule("echo"), rule("raw", effects.Mutation), rule("absent"), rule("fail", effects.NetworkRead))
	c := newClient(t, map[string]*config.Server{"lib": s})
	names := func(inv effects.Invocation) (list []string) {
		tools, err := c.ListTools(t.Context(), "lib", inv)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range tools {
			list = append(list, tool.Name)
		}
		return list
	}
	for _, row := range []struct {
		a    effects.Authority
		want string
	}{
		{effects.Authority{}, "echo fail"},
		{effects.Authority{Offline: true}, "echo"},
		{effects.Authority{Authorized: effects.NewSet(effects.Mutation)}, "echo fail raw"},
	} {
		if got := strings.Join(names(effects.NewInvocation(row.a)), " "); got != row.want {
			t.Errorf("%+v: %s", row.a, got)
		}
	}
}

func TestCheck(t *testing.T) {
	s := childServer(t, "sdk", rule("echo"), rule("absent"))
	c := newClient(t, map[string]*config.Server{"lib": s})
	h, err := c.Check(t.Context(), "lib", effects.Invocation{})
	if err != nil || h.Info.Version != "7" || h.Protocol != "2026-07-28" || h.Advertised != 5 || h.Usable != 1 {
		t.Fatalf("%+v %v", h, err)
	}
	if len(h.Findings) != 1 || h.Findings[0].Problem != Missing || h.Findings[0].Subject.Name != "lib/absent" {
		t.Errorf("%+v", h.Findings)
	}
}
