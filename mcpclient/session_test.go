package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/mcpclient/mcptest"
	"github.com/cupule/cupule/registry"
)

// scripted configures a script as a server, as a child or over HTTP.
type scripted struct {
	*config.Server
	record func() mcptest.Record
}

func scriptedServer(t testing.TB, web bool, script mcptest.Script, list ...*config.Rule) scripted {
	t.Helper()
	s := scripted{Server: &config.Server{Startup: 10 * time.Second, Allowed: rules(list...)}}
	if web {
		h := script.HTTP(t)
		s.HTTP = &config.HTTP{URL: h.URL}
		s.record = h.Record
		return s
	}
	script.Record = filepath.Join(t.TempDir(), "record")
	path, args := script.Command()
	s.Stdio = &config.Stdio{Command: path, Args: args}
	s.record = func() mcptest.Record {
		r, err := mcptest.ReadRecord(script.Record)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	return s
}

// everywhere runs a test with children and over HTTP, in both generations of the protocol.
func everywhere(t *testing.T, test func(t *testing.T, web bool, speaks mcptest.Generation)) {
	for _, web := range []bool{false, true} {
		for _, speaks := range []mcptest.Generation{mcptest.Legacy, mcptest.Modern} {
			t.Run(fmt.Sprintf("%s, web %v", speaks, web), func(t *testing.T) {
				before := measure()
				t.Run("", func(t *testing.T) { test(t, web, speaks) })
				wantNothingLeft(t, before)
			})
		}
	}
}

var nobody effects.Invocation

func TestSession(t *testing.T) {
	everywhere(t, func(t *testing.T, web bool, speaks mcptest.Generation) {
		script := mcptest.Good()
		script.Speaks, script.PageSize, script.Instructions = speaks, 1, "Read the manual"
		s := scriptedServer(t, web, script, rule("echo"))
		s.Resources = rules(rule("docs://*"))
		s.Prompts = map[string]*config.Rule{}
		for _, p := range script.Prompts {
			s.Prompts[p.Name] = rule(p.Name)
		}
		c := newClient(t, map[string]*config.Server{"lib": s.Server, "other": childServer(t, "sdk")})
		if list := c.Connected(); len(list) != 0 || c.IsConnected("lib") {
			t.Errorf("%v before Connect", list)
		}
		session, err := c.Connect(t.Context(), "lib", nobody)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := c.Connect(t.Context(), "lib", nobody); again != session || err != nil {
			t.Errorf("a second session: %v", err)
		}
		if got := c.Connected(); !slices.Equal(got, []string{"lib"}) || !c.IsConnected("lib") || session.Server() != "lib" {
			t.Errorf("connected: %v", got)
		}
		want := map[mcptest.Generation]string{mcptest.Legacy: legacy, mcptest.Modern: modern}[speaks]
		if session.Protocol() != want || session.ServerInfo().Name != "mcptest" || session.Capabilities().Tools == nil || session.Instructions() != "Read the manual" {
			t.Errorf("%s %+v %+v", session.Protocol(), session.ServerInfo(), session.Capabilities())
		}
		useSession(t, session, script)
		c.Disconnect("lib")
		c.Disconnect("nowhere")
		if c.IsConnected("lib") || session.Protocol() != "" {
			t.Error("still connected")
		}
		_, err = session.CallTool(t.Context(), "echo", nil, nobody)
		wantKind(t, err, registry.KindUnavailable, registry.NotSent)
		_ = c.Close()
		if n := s.record().Count("tools/list"); n != 2 {
			t.Errorf("%d lists of tools", n)
		}
	})
}

// useSession calls, lists, reads and gets everything that the script offers.
func useSession(t *testing.T, s *Session, script mcptest.Script) {
	ctx := t.Context()
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			r, err := s.CallTool(ctx, "echo", json.RawMessage(fmt.Sprintf(`{"n":%d}`, i)), nobody)
			if err != nil || !strings.Contains(string(r.Raw), fmt.Sprintf(`{"n":%d}`, i)) {
				t.Errorf("call %d: %+v %v", i, r, err)
			}
		})
	}
	all.Wait()
	tools, err := s.ListTools(ctx, nobody)
	if err != nil || len(tools) != 1 || tools[0].Name != "echo" || tools[0].Description == "" {
		t.Errorf("tools %+v %v", tools, err)
	}
	resources, err := s.ListResources(ctx, nobody)
	if err != nil || len(resources) != len(script.Resources) {
		t.Errorf("resources %+v %v", resources, err)
	}
	templates, err := s.ListResourceTemplates(ctx, nobody)
	if err != nil || len(templates) != len(script.Templates) {
		t.Errorf("templates %+v %v", templates, err)
	}
	for _, want := range script.Resources {
		r, err := s.ReadResource(ctx, want.URI, nobody)
		if err != nil {
			t.Errorf("%s: %v", want.URI, err)
			continue
		}
		typed, err := r.Typed()
		if err != nil || len(typed.Contents) != 1 || typed.Contents[0].Text != want.Text || string(typed.Contents[0].Blob) != string(want.Blob) {
			t.Errorf("%s: %s %v", want.URI, r.Raw, err)
		}
	}
	prompts, err := s.ListPrompts(ctx, nobody)
	if err != nil || len(prompts) != len(script.Prompts) {
		t.Errorf("prompts %+v %v", prompts, err)
	}
	for _, p := range script.Prompts {
		r, err := s.GetPrompt(ctx, p.Name, map[string]string{"topic": "acorns"}, nobody)
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		if typed, err := r.Typed(); err != nil || len(typed.Messages) == 0 {
			t.Errorf("%s: %s %v", p.Name, r.Raw, err)
		}
	}
}

// TestNotifications subscribes to what a server says during a call.
func TestNotifications(t *testing.T) {
	faults := []mcptest.Fault{
		{At: mcptest.CallTool, Do: mcptest.Progress, Count: 2, JSON: json.RawMessage(`"a token"`)},
		{At: mcptest.CallTool, Do: mcptest.Progress, Count: 2},
		{At: mcptest.CallTool, Do: mcptest.Log, Text: "hello"},
		{At: mcptest.CallTool, Do: mcptest.ListChanged},
		{At: mcptest.CallTool, Do: mcptest.Notify, JSON: json.RawMessage(`{"n":9007199254740993}`)},
	}
	everywhere(t, func(t *testing.T, web bool, speaks mcptest.Generation) {
		script := mcptest.Good().With(faults...)
		script.Speaks, script.Events = speaks, true
		s := scriptedServer(t, web, script, rule("echo"))
		c := newClient(t, map[string]*config.Server{"lib": s.Server})
		session, err := c.Connect(t.Context(), "lib", nobody)
		if err != nil {
			t.Fatal(err)
		}
		sub, idle := session.Subscribe(), session.Subscribe()
		reported := 0
		call := ToolCall{Tool: "echo", Progress: func(registry.Progress) { reported++ }}
		if _, err := session.Call(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		if _, err := session.Call(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		if reported != 4 {
			t.Errorf("%d reports of progress for two calls", reported)
		}
		_ = session.Close()
		var got []string
		for n := range sub.All(t.Context()) {
			got = append(got, describe(t, n))
		}
		own := "progress " + fmt.Sprint(firstID)
		once := []string{`progress "a token"`, `progress "a token"`, own, own, "log hello", "changed tools", `notifications/unknown {"n":9007199254740993}`}
		if len(got) != 14 || speaks == mcptest.Legacy && !cmp.Equal(withoutDigits(got[:7]), withoutDigits(once)) {
			t.Errorf("%d notifications: %s", len(got), cmp.Diff(withoutDigits(once), withoutDigits(got)))
		}
		if _, err := idle.Next(t.Context()); err != nil || idle.Dropped() != 0 {
			t.Errorf("a queue that nobody read: %v, %d dropped", err, idle.Dropped())
		}
		if n := s.record().Count("tools/list"); n != 2 {
			t.Errorf("%d lists of tools, although the list has changed", n)
		}
	})
}

func withoutDigits(list []string) []string {
	var plain []string
	for _, s := range list {
		plain = append(plain, strings.TrimRight(s, "0123456789"))
	}
	return plain
}

func describe(t *testing.T, n Notification) string {
	if token, _, ok := n.Progress(); ok {
		return "progress " + string(token)
	}
	if list, ok := n.ListChanged(); ok {
		return "changed " + list
	}
	if m, err := n.Log(); err == nil {
		return fmt.Sprintf("log %v", m.Data)
	}
	return n.Method + " " + string(n.Params)
}

// TestSubscriptionIsBounded floods a session with notifications that nobody reads.
func TestSubscriptionIsBounded(t *testing.T) {
	script := mcptest.Good().With(mcptest.Fault{At: mcptest.CallTool, Do: mcptest.Flood, Count: 2000})
	script.Speaks = mcptest.Legacy
	s := scriptedServer(t, false, script, rule("echo"))
	c := newClient(t, map[string]*config.Server{"lib": s.Server})
	session, err := c.Connect(t.Context(), "lib", nobody)
	if err != nil {
		t.Fatal(err)
	}
	sub := session.Subscribe()
	if _, err := session.CallTool(t.Context(), "echo", nil, nobody); err != nil {
		t.Fatal(err)
	}
	_ = session.Close()
	n := 0
	for range sub.All(t.Context()) {
		n++
	}
	if n != MaxQueued || sub.Dropped() != 2000-MaxQueued {
		t.Errorf("%d kept, %d dropped", n, sub.Dropped())
	}
}

// TestReconnect loses a server amid a call. Many callers come next; they connect once.
func TestReconnect(t *testing.T) {
	for _, row := range []struct {
		name string
		web  bool
		do   mcptest.Behaviour
		kind registry.Kind
		ran  registry.Ran
	}{
		{"a child that crashes", false, mcptest.CrashBefore, registry.KindOutcomeUnknown, registry.Sent},
		{"a session that expired", true, mcptest.SessionGone, registry.KindUnavailable, registry.Completed},
	} {
		t.Run(row.name, func(t *testing.T) {
			script := mcptest.Good().With(mcptest.Fault{At: mcptest.CallTool, Tool: "fatal", Do: row.do})
			script.Speaks = mcptest.Legacy
			script.Tools = append(script.Tools, mcptest.Tool{Name: "fatal"})
			s := scriptedServer(t, row.web, script, rule("echo"), rule("fatal"))
			s.Session.Shared = true
			c := newClient(t, map[string]*config.Server{"lib": s.Server})
			for range 2 {
				if _, err := c.CallTool(t.Context(), "lib", "echo", nil, nobody); err != nil {
					t.Fatal(err)
				}
			}
			_, err := c.CallTool(t.Context(), "lib", "fatal", nil, nobody)
			wantKind(t, err, row.kind, row.ran)
			var all sync.WaitGroup
			for range 16 {
				all.Go(func() {
					if _, err := c.CallTool(t.Context(), "lib", "echo", nil, nobody); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			_ = c.Close()
			if r := s.record(); r.Count("initialize") != 2 || r.Count("tools/call") != 19 {
				t.Errorf("%d sessions, %d calls", r.Count("initialize"), r.Count("tools/call"))
			}
		})
	}
}

// TestCancelledCall gives up one call of a session. The server is told which, and the session goes on.
func TestCancelledCall(t *testing.T) {
	everywhere(t, func(t *testing.T, web bool, speaks mcptest.Generation) {
		script := mcptest.Good()
		script.Speaks, script.Events = speaks, true
		script.Tools = append(script.Tools, mcptest.Tool{Name: "slow", Delay: time.Minute})
		s := scriptedServer(t, web, script, rule("echo"), rule("slow"))
		c := newClient(t, map[string]*config.Server{"lib": s.Server})
		session, err := c.Connect(t.Context(), "lib", nobody)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer cancel()
			waitFor(t, "a call", func() bool { return s.record().Count("tools/call") > 0 })
		}()
		_, err = session.CallTool(ctx, "slow", nil, nobody)
		wantKind(t, err, registry.KindCancelled, registry.Sent)
		if _, err := session.CallTool(t.Context(), "echo", nil, nobody); err != nil {
			t.Error(err)
		}
		_ = c.Close()
		r := s.record()
		var id string
		for _, e := range r {
			if e.Method == "tools/call" && strings.Contains(string(e.Message), "slow") {
				id = string(e.ID)
			}
		}
		if web && speaks == mcptest.Modern {
			if n := len(r.Of(mcptest.Abandoned)); n == 0 || len(r.Cancelled()) != 0 {
				t.Errorf("%d streams closed, %v cancelled", n, r.Cancelled())
			}
		} else if got := r.Cancelled(); !slices.Contains(got, id) || id == "" {
			t.Errorf("cancelled %v, the call was %s", got, id)
		}
	})
}

// TestLateAnswer abandons a call; its answer comes while the next call is in flight.
func TestLateAnswer(t *testing.T) {
	script := mcptest.Good().With(mcptest.Fault{At: mcptest.CallTool, Do: mcptest.Late, Delay: 300 * time.Millisecond, Times: 1},
		mcptest.Fault{At: mcptest.CallTool, Skip: 1, Do: mcptest.Late, Delay: 400 * time.Millisecond, Times: 1})
	script.Speaks = mcptest.Legacy
	s := scriptedServer(t, false, script, rule("echo"))
	s.Session.Shared = true
	c := newClient(t, map[string]*config.Server{"lib": s.Server})
	if _, err := c.Connect(t.Context(), "lib", nobody); err != nil {
		t.Fatal(err)
	}
	_, err := c.CallTool(t.Context(), "lib", "echo", json.RawMessage(`{"first":1}`), nobody.WithTimeout(150*time.Millisecond))
	wantKind(t, err, registry.KindTimeout, registry.Sent)
	r, err := c.CallTool(t.Context(), "lib", "echo", json.RawMessage(`{"second":2}`), nobody)
	if err != nil || !strings.Contains(string(r.Raw), "second") {
		t.Errorf("%+v %v", r, err)
	}
}

// TestOversizedOutputFailsItsOwnCall puts one huge answer among good ones.
func TestOversizedOutputFailsItsOwnCall(t *testing.T) {
	for _, do := range []mcptest.Behaviour{mcptest.HugeResult, mcptest.HugeResultIDLast} {
		t.Run(string(do), func(t *testing.T) {
			script := mcptest.Good().With(mcptest.Fault{At: mcptest.CallTool, Tool: "huge", Do: do, Size: 16 << 20})
			script.Tools = append(script.Tools, mcptest.Tool{Name: "huge"}, mcptest.Tool{Name: "slow", Delay: 200 * time.Millisecond})
			script.Speaks = mcptest.Legacy
			s := scriptedServer(t, false, script, rule("echo"), rule("huge"), rule("slow"))
			s.Session.Shared = true
			c := newClient(t, map[string]*config.Server{"lib": s.Server})
			var all sync.WaitGroup
			for _, tool := range []string{"slow", "huge", "slow", "echo"} {
				all.Go(func() {
					_, err := c.CallTool(t.Context(), "lib", tool, nil, nobody)
					if tool != "huge" && err != nil {
						t.Errorf("%s: %v", tool, err)
					}
					if tool == "huge" && asError(err).Kind != registry.KindOutputTooLarge {
						t.Errorf("huge: %v", err)
					}
				})
			}
			all.Wait()
			_ = c.Close()
			if n := s.record().Count("initialize"); n != 1 {
				t.Errorf("%d sessions", n)
			}
		})
	}
}

// TestWarm uses spares, kills one, and lets one grow old.
func TestWarm(t *testing.T) {
	before := measure()
	script := mcptest.Good()
	script.Speaks = mcptest.Legacy
	s := scriptedServer(t, false, script, rule("echo"))
	s.Session = config.Session{Warm: 2}
	c := newClient(t, map[string]*config.Server{"lib": s.Server})
	pool := c.servers["lib"].pool
	if len(s.record()) != 0 {
		t.Error("something was started")
	}
	for range 4 {
		if _, err := c.CallTool(t.Context(), "lib", "echo", nil, nobody); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "two spares", func() bool { return pool.ready() == 2 })
	}
	// Each call had a session of its own, and two wait.
	if n := s.record().Count("initialize"); n != 6 {
		t.Errorf("%d sessions for 4 calls and 2 spares", n)
	}
	pool.kill()
	if _, err := c.CallTool(t.Context(), "lib", "echo", nil, nobody); err != nil {
		t.Errorf("with dead spares: %v", err)
	}
	waitFor(t, "two spares again", func() bool { return pool.ready() == 2 })
	_ = c.Close()
	if n := s.record().Count("tools/call"); n != 5 {
		t.Errorf("%d calls", n)
	}
	wantNothingLeft(t, before)
}

func TestWarmIsRecycled(t *testing.T) {
	s := scriptedServer(t, false, mcptest.Good(), rule("echo"))
	s.Session = config.Session{Warm: 1, Idle: 50 * time.Millisecond}
	c := newClient(t, map[string]*config.Server{"lib": s.Server})
	if _, err := c.CallTool(t.Context(), "lib", "echo", nil, nobody); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "three generations of spares", func() bool { return s.record().Count("server/discover") >= 4 })
}

// ready returns how many spares wait.
func (p *pool) ready() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.spares)
}

// kill kills the children of all spares.
func (p *pool) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.spares {
		s.link.peer.(*conn).child.Kill()
		<-s.link.over()
	}
}

// waitFor waits until something is so; what it takes is a matter of other processes.
func waitFor(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("there were never %s", what)
		}
	}
}

// TestConcurrency holds calls back beyond a server's bound. Waiting counts.
func TestConcurrency(t *testing.T) {
	script := mcptest.Good()
	script.Tools = append(script.Tools, mcptest.Tool{Name: "slow", Delay: 400 * time.Millisecond})
	s := scriptedServer(t, false, script, rule("slow"))
	s.Concurrency, s.Session.Shared = 1, true
	c := newClient(t, map[string]*config.Server{"lib": s.Server})
	if _, err := c.Connect(t.Context(), "lib", nobody); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			if _, err := c.CallTool(t.Context(), "lib", "slow", nil, nobody); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if took := time.Since(began); took < 800*time.Millisecond {
		t.Errorf("two calls of 400 ms took %v", took)
	}
	leave, err := c.servers["lib"].enter(t.Context(), c.servers["lib"].slots)
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	_, err = c.CallTool(t.Context(), "lib", "slow", nil, nobody.WithTimeout(50*time.Millisecond))
	e := wantKind(t, err, registry.KindTimeout, registry.NotSent)
	if e.Limit.Whose != "caller" {
		t.Errorf("%+v", e.Limit)
	}
	c.servers["lib"].queued.Store(MaxWaiting)
	_, err = c.CallTool(t.Context(), "lib", "slow", nil, nobody)
	if e := wantKind(t, err, registry.KindOverloaded, registry.NotSent); e.RetryAfter <= 0 {
		t.Errorf("%+v", e)
	}
	c.servers["lib"].queued.Store(0)
}

// TestSlowServerDelaysNoOther calls one server while another is silent.
func TestSlowServerDelaysNoOther(t *testing.T) {
	slow := scriptedServer(t, false, mcptest.Good().With(at(mcptest.Any, mcptest.Silent)...), rule("echo"))
	good := scriptedServer(t, false, mcptest.Good(), rule("echo"))
	slow.Session.Shared, good.Session.Shared = true, true
	c := newClient(t, map[string]*config.Server{"slow": slow.Server, "good": good.Server})
	done := make(chan error, 1)
	go func() {
		_, err := c.CallTool(t.Context(), "slow", "echo", nil, nobody)
		done <- err
	}()
	if _, err := c.CallTool(t.Context(), "good", "echo", nil, nobody); err != nil {
		t.Error(err)
	}
	began := time.Now()
	_ = c.Close()
	if took := time.Since(began); took > CloseBudget+slack {
		t.Errorf("Close took %v", took)
	}
	wantKind(t, <-done, registry.KindShuttingDown, registry.NotSent)
	_, err := c.CallTool(t.Context(), "good", "echo", nil, nobody)
	wantKind(t, err, registry.KindShuttingDown, registry.NotSent)
}

// TestLogLevel asks real servers of both generations for their log messages.
func TestLogLevel(t *testing.T) {
	for _, protocol := range []string{legacy, modern} {
		t.Run(protocol, func(t *testing.T) {
			s := childServer(t, "sdk", rule("log"))
			s.Protocol = protocol
			c := newClient(t, map[string]*config.Server{"lib": s})
			session, err := c.Connect(t.Context(), "lib", nobody)
			if err != nil {
				t.Fatal(err)
			}
			wantKind(t, session.SetLogLevel(t.Context(), "loud", nobody), registry.KindInvalidParams, registry.NotSent)
			if err := session.SetLogLevel(t.Context(), "info", nobody); err != nil {
				t.Fatal(err)
			}
			sub := session.Subscribe()
			if _, err := session.CallTool(t.Context(), "log", json.RawMessage(`{"text":"hi"}`), nobody); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			n, err := sub.Next(ctx)
			if m, logErr := n.Log(); err != nil || logErr != nil || m.Level != mcp.LoggingLevel("info") {
				t.Errorf("%+v %v %v", m, err, logErr)
			}
		})
	}
}
