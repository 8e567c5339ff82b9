package mcpclient

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/internal/proc"
	"github.com/cupule/cupule/registry"
)

// In these tests a server is a goroutine behind pipes in memory, and time is virtual: a
// deadline is met to the nanosecond or not at all.

// puppet is a child in memory.
type puppet struct {
	ends   []net.Conn
	once   sync.Once
	done   chan struct{}
	killed bool
}

func (p *puppet) Stderr() string           { return "" }
func (p *puppet) Done() <-chan struct{}    { return p.done }
func (p *puppet) Drained() <-chan struct{} { return p.done }
func (p *puppet) Exit() string             { return "exit status 0" }

func (p *puppet) Kill() {
	p.killed = true
	p.Close()
}

func (p *puppet) Close(...time.Duration) proc.Report {
	p.once.Do(func() {
		close(p.done)
		for _, end := range p.ends {
			_ = end.Close()
		}
	})
	return proc.Report{Stage: proc.OnEOF}
}

// reply is what a server in memory does with a request: it may answer, or say nothing.
type reply func(method string, id json.RawMessage, answer func(result string))

// goodReply speaks 2025-11-25.
func goodReply(method string, _ json.RawMessage, answer func(string)) {
	switch method {
	case "initialize":
		answer(`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"m","version":"1"}}`)
	case "tools/list":
		answer(`{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`)
	case "tools/call":
		answer(`{"content":[]}`)
	}
}

// except is goodReply, but for one method.
func except(method string, do func(answer func(string))) reply {
	return func(m string, id json.RawMessage, answer func(string)) {
		if m == method {
			do(answer)
			return
		}
		goodReply(m, id, answer)
	}
}

func silence(func(string)) {}

// inMemory returns a client whose one server replies like this, and its children.
func inMemory(t *testing.T, s *config.Server, how reply) (*Client, *puppets) {
	s.Stdio = &config.Stdio{Command: "none"}
	c, err := New(&config.Config{MCP: map[string]*config.Server{"m": s}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	children := &puppets{}
	c.dial = func(_ *config.Server, v *variables, _ effects.Set, n *notes) (peer, error) {
		stdin, in := net.Pipe()
		out, stdout := net.Pipe()
		p := &puppet{ends: []net.Conn{stdin, in, out, stdout}, done: make(chan struct{})}
		children.add(p)
		if how != nil {
			go serve(in, stdout, how)
		}
		return newConn(p, stdin, out, v.masker(), n), nil
	}
	return c, children
}

// puppets are the children that a client has started.
type puppets struct {
	mu   sync.Mutex
	list []*puppet
}

func (p *puppets) add(child *puppet) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, child)
}

func (p *puppets) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.list)
}

func serve(in, out net.Conn, how reply) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	var mu sync.Mutex
	for lines.Scan() {
		m := parse(lines.Bytes())
		id := string(m.id)
		method, _ := text(m.method)
		go how(method, m.id, func(result string) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
		})
	}
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

func TestDeadlines(t *testing.T) {
	callerOf := func(d time.Duration) effects.Invocation { return nobody.WithTimeout(d) }
	for _, row := range []struct {
		name    string
		how     reply // nil: it never reads
		pinned  string
		timeout float64 // of the tool
		startup float64
		inv     effects.Invocation
		after   float64
		kind    registry.Kind
		ran     registry.Ran
		limit   string
		args    int
	}{
		{name: "good, pinned", how: goodReply, pinned: legacy, timeout: 5, startup: 8},
		{name: "silent on the probe", how: goodReply, timeout: 5, startup: 4, after: 1},
		{name: "silent on the probe, long startup", how: goodReply, timeout: 50, startup: 40, after: 2},
		{name: "silent on the call", how: except("tools/call", silence), pinned: legacy, timeout: 5, startup: 8, after: 5, kind: registry.KindTimeout, ran: registry.Sent, limit: "timeout 5s of tool m/echo"},
		{name: "a caller in a hurry", how: except("tools/call", silence), pinned: legacy, timeout: 5, startup: 8, inv: callerOf(seconds(1.5)), after: 1.5, kind: registry.KindTimeout, ran: registry.Sent, limit: "timeout 1.5s of caller"},
		{name: "silent on the list", how: except("tools/list", silence), pinned: legacy, timeout: 5, startup: 8, after: 5, kind: registry.KindTimeout, ran: registry.NotSent, limit: "timeout 5s of tool m/echo"},
		{name: "silent at all", how: func(string, json.RawMessage, func(string)) {}, timeout: 30, startup: 3, after: 3, kind: registry.KindTimeout, ran: registry.NotSent, limit: "startup 3s of server m"},
		{name: "silent at all, pinned to the newest", how: func(string, json.RawMessage, func(string)) {}, pinned: modern, timeout: 30, startup: 3, after: 3, kind: registry.KindTimeout, ran: registry.NotSent, limit: "startup 3s of server m"},
		{name: "never reads", timeout: 30, startup: 3, after: 3, kind: registry.KindTimeout, ran: registry.NotSent, limit: "startup 3s of server m"},
		{name: "startup beyond the deadline", how: func(string, json.RawMessage, func(string)) {}, timeout: 2, startup: 30, after: 2, kind: registry.KindTimeout, ran: registry.NotSent, limit: "timeout 2s of tool m/echo"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rule("echo")
				r.Timeout = seconds(row.timeout)
				c, _ := inMemory(t, &config.Server{Startup: seconds(row.startup), Protocol: row.pinned, Allowed: rules(r)}, row.how)
				began := time.Now()
				_, err := c.CallTool(t.Context(), "m", "echo", nil, row.inv)
				if took := time.Since(began); took != seconds(row.after) {
					t.Errorf("back after %v, want %v", took, seconds(row.after))
				}
				if row.kind == "" && err != nil {
					t.Error(err)
				}
				if row.kind != "" {
					if e := wantKind(t, err, row.kind, row.ran); e.Limit == nil || e.Limit.String() != row.limit {
						t.Errorf("limit %v", e.Limit)
					}
				}
				_ = c.Close()
			})
		})
	}
}

// TestStuckWrite has a server that stops reading amid a large call. The caller is back at its deadline;
// the session, whose stream is broken, is killed soon after.
func TestStuckWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rule("echo")
		r.Timeout = seconds(5)
		c, children := inMemory(t, &config.Server{Startup: seconds(8), Protocol: legacy, Allowed: rules(r), Session: config.Session{Shared: true}}, goodReply)
		if _, err := c.CallTool(t.Context(), "m", "echo", nil, nobody); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		// The scanner of the server gives up on a line of this length, and reads no more.
		_, err := c.CallTool(t.Context(), "m", "echo", json.RawMessage(`{"a":"`+strings.Repeat("x", 2<<20)+`"}`), nobody)
		wantKind(t, err, registry.KindTimeout, registry.Sent)
		if took := time.Since(began); took != seconds(5) {
			t.Errorf("back after %v", took)
		}
		time.Sleep(stall + time.Millisecond)
		synctest.Wait()
		if !children.list[0].killed || c.IsConnected("m") {
			t.Error("the child with the broken stream lives")
		}
		if _, err := c.CallTool(t.Context(), "m", "echo", nil, nobody); err != nil {
			t.Errorf("the next call: %v", err)
		}
		_ = c.Close()
	})
}

// TestWaitingCounts lets a call wait for its place until its time is up.
func TestWaitingCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rule("echo")
		r.Timeout = seconds(5)
		s := &config.Server{Startup: seconds(8), Protocol: legacy, Allowed: rules(r), Concurrency: 1}
		c, children := inMemory(t, s, except("tools/call", func(answer func(string)) { time.Sleep(seconds(3)); answer(`{"content":[]}`) }))
		began := time.Now()
		var all sync.WaitGroup
		var mu sync.Mutex
		var took []time.Duration
		for range 2 {
			all.Go(func() {
				_, err := c.CallTool(t.Context(), "m", "echo", nil, nobody)
				mu.Lock()
				defer mu.Unlock()
				took = append(took, time.Since(began))
				if len(took) == 2 {
					wantKind(t, err, registry.KindTimeout, registry.Sent)
				}
			})
		}
		all.Wait()
		if took[0] != seconds(3) || took[1] != seconds(5) || children.count() != 2 {
			t.Errorf("back after %v, %d children", took, children.count())
		}
		_ = c.Close()
		time.Sleep(seconds(3)) // the server's own
	})
}

// TestChildrenHaveABound starts no more children at once than the default allows, and
// refuses more calls than may wait for them. A session's own calls start none and don't wait.
func TestChildrenHaveABound(t *testing.T) {
	for _, warm := range []int{0, 2} {
		synctest.Test(t, func(t *testing.T) {
			s := &config.Server{Startup: seconds(8), Protocol: legacy, Allowed: rules(rule("echo")), Session: config.Session{Warm: warm}}
			var running, most, done, refused atomic.Int32
			c, _ := inMemory(t, s, except("tools/call", func(answer func(string)) {
				now := running.Add(1)
				for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
				}
				time.Sleep(seconds(0.1))
				running.Add(-1)
				answer(`{"content":[]}`)
			}))
			bound := max(minChildren, 4*runtime.GOMAXPROCS(0))
			if cap(c.servers["m"].children) != bound {
				t.Fatalf("%d children, want %d", cap(c.servers["m"].children), bound)
			}
			session, err := c.Connect(t.Context(), "m", nobody)
			if err != nil {
				t.Fatal(err)
			}
			var all sync.WaitGroup
			for range bound + MaxWaiting + 5 {
				all.Go(func() {
					switch _, err := c.CallTool(t.Context(), "m", "echo", nil, nobody); {
					case err == nil:
						done.Add(1)
					default:
						if e := asError(err); e.Kind == registry.KindOverloaded && e.Ran == registry.NotSent && e.RetryAfter > 0 && e.Limit.Count == MaxWaiting {
							refused.Add(1)
						}
					}
				})
			}
			synctest.Wait()
			if n := int(running.Load()); n != bound {
				t.Errorf("%d calls run, want %d", n, bound)
			}
			began := time.Now()
			if _, err := session.CallTool(t.Context(), "echo", nil, nobody); err != nil || time.Since(began) != seconds(0.1) {
				t.Errorf("a session's call after %v: %v", time.Since(began), err)
			}
			all.Wait()
			if int(done.Load()) != bound+MaxWaiting || refused.Load() != 5 || int(most.Load()) > bound+1 {
				t.Errorf("%d calls went well, %d were refused, %d ran at once", done.Load(), refused.Load(), most.Load())
			}
			_ = c.Close()
			time.Sleep(seconds(1))
		})
	}
}

// TestIdleSpare is replaced when it has waited too long, again and again.
func TestIdleSpare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &config.Server{Startup: seconds(8), Protocol: legacy, Allowed: rules(rule("echo")), Session: config.Session{Warm: 2, Idle: time.Minute}}
		c, children := inMemory(t, s, goodReply)
		if _, err := c.CallTool(t.Context(), "m", "echo", nil, nobody); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for n := 3; n <= 9; n += 2 {
			if got := children.count(); got != n || c.servers["m"].pool.ready() != 2 {
				t.Errorf("%d children after %v, want %d", got, time.Now(), n)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		began := time.Now()
		if _, err := c.CallTool(t.Context(), "m", "echo", nil, nobody); err != nil || time.Since(began) != 0 {
			t.Error(err)
		}
		_ = c.Close()
	})
}

// TestCloseAmidEverything closes a client while calls are at every stage.
func TestCloseAmidEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &config.Server{Startup: seconds(8), Allowed: rules(rule("echo")), Session: config.Session{Warm: 1}, Concurrency: 3}
		c, _ := inMemory(t, s, except("tools/call", silence))
		errs := make(chan error, 5)
		for range 5 {
			go func() {
				_, err := c.CallTool(t.Context(), "m", "echo", nil, nobody)
				errs <- err
			}()
			time.Sleep(seconds(0.7))
		}
		began := time.Now()
		_ = c.Close()
		_ = c.Close()
		if took := time.Since(began); took > CloseBudget {
			t.Errorf("Close took %v", took)
		}
		for range 5 {
			if e := asError(<-errs); e.Kind != registry.KindShuttingDown {
				t.Errorf("%v", e)
			}
		}
	})
}
