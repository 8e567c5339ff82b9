package mcpclient

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/mcpclient/mcptest"
	"github.com/cupule/cupule/registry"
)

// peak samples the heap until stop is called, which returns the most that it grew by.
func peak() (stop func() uint64) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, most := m.HeapAlloc, uint64(0)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				runtime.ReadMemStats(&m)
				if m.HeapAlloc > before {
					most = max(most, m.HeapAlloc-before)
				}
			}
		}
	}()
	return func() uint64 { close(quit); <-done; return most }
}

// TestMemoryOfOversizedOutputs makes parallel calls that are each answered with 1,000 times
// their limit, beside healthy ones. Memory stays within 8 MiB and 4 times what the calls may hold.
func TestMemoryOfOversizedOutputs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector has a memory of its own")
	}
	const limit = 4 << 10
	for _, row := range []struct {
		name     string
		shared   bool
		parallel int
	}{{"one session", true, 256}, {"a session each", false, 32}} {
		t.Run(row.name, func(t *testing.T) {
			script := mcptest.Good().With(mcptest.Fault{At: mcptest.CallTool, Tool: "huge", Do: mcptest.HugeResult, Size: 1000 * limit})
			script.Tools = append(script.Tools, mcptest.Tool{Name: "huge"})
			script.Speaks = mcptest.Legacy
			huge, good := scriptedServer(t, false, script, rule("huge")), scriptedServer(t, false, mcptest.Good(), rule("echo"))
			huge.Allowed["huge"].MaxOutput, huge.Allowed["huge"].Timeout = limit, time.Minute
			huge.Concurrency = row.parallel
			huge.Startup, huge.Session.Shared, good.Session.Shared = time.Minute, row.shared, true
			c := newClient(t, map[string]*config.Server{"huge": huge.Server, "good": good.Server})
			for alias := range c.servers {
				if _, err := c.Connect(t.Context(), alias, nobody); err != nil {
					t.Fatal(err)
				}
			}
			stop := peak()
			var worst atomic.Int64
			var all sync.WaitGroup
			for range row.parallel {
				all.Go(func() {
					_, err := c.CallTool(t.Context(), "huge", "huge", nil, nobody)
					if e := asError(err); err == nil || e.Kind != registry.KindOutputTooLarge {
						t.Errorf("%v", err)
					}
				})
			}
			quit, healthy := make(chan struct{}), make(chan int)
			go func() { healthy <- callUntil(t, c, quit, &worst) }()
			all.Wait()
			close(quit)
			calls, most := <-healthy, stop()
			formula := uint64(8<<20 + row.parallel*4*(limit+1<<20))
			t.Logf("%d calls: the heap grew by %.1f MiB at most, the formula allows %.1f; %d healthy calls beside, the slowest in %v",
				row.parallel, float64(most)/(1<<20), float64(formula)/(1<<20), calls, time.Duration(worst.Load()).Round(time.Microsecond))
			if most > min(formula, 48<<20) {
				t.Errorf("the heap grew by %d bytes", most)
			}
		})
	}
}

// callUntil calls a healthy server until quit, and returns how often.
func callUntil(t *testing.T, c *Client, quit chan struct{}, worst *atomic.Int64) int {
	for n := 0; ; n++ {
		select {
		case <-quit:
			return n
		default:
		}
		began := time.Now()
		if _, err := c.CallTool(t.Context(), "good", "echo", nil, nobody); err != nil {
			t.Error(err)
		}
		worst.Store(max(worst.Load(), int64(time.Since(began))))
	}
}

// TestAllocationOfACall holds a raw call in a session to its bound.
func TestAllocationOfACall(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates too")
	}
	s := scriptedServer(t, false, mcptest.Good(), rule("echo"))
	c := newClient(t, map[string]*config.Server{"lib": s.Server})
	session, err := c.Connect(t.Context(), "lib", nobody)
	if err != nil {
		t.Fatal(err)
	}
	args := []byte(`{"text":"0123456789"}`)
	call := func() {
		if _, err := session.CallTool(t.Context(), "echo", args, nobody); err != nil {
			t.Fatal(err)
		}
	}
	call()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const calls = 500
	for range calls {
		call()
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / calls; each > 4<<10 {
		t.Errorf("a call allocates %d bytes", each)
	}
}
