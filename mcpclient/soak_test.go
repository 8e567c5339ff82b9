package mcpclient

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/mcpclient/mcptest"
	"github.com/cupule/cupule/registry"
)

// The soak is a command of its own:
//
//	go test ./mcpclient -run TestSoak -timeout 2h -v -soak 10000
var soak = flag.Int("soak", 0, "how many sessions of one operation TestSoak runs over each transport")

// soakFaults are what one call in twenty meets.
var soakFaults = []mcptest.Behaviour{
	mcptest.Silent, mcptest.CrashBefore, mcptest.CrashAmid, mcptest.NullResult, mcptest.HugeResult, mcptest.WrongID, mcptest.ErrorReply, mcptest.CrashAfter,
}

const (
	soakTimeout = 2 * time.Second
	soakCallers = 4
)

func TestSoak(t *testing.T) {
	if *soak <= 0 {
		t.Skip("say -soak N to run it")
	}
	for _, web := range []bool{false, true} {
		t.Run(fmt.Sprintf("web %v", web), func(t *testing.T) {
			before := measure()
			t.Run("", func(t *testing.T) { runSoak(t, web) })
			wantNothingLeft(t, before)
		})
	}
}

// soakServers configures a good server and a bad one for each fault. What a server sees isn't
// recorded: the records would be the memory that grows.
func soakServers(t *testing.T, web bool) map[string]*config.Server {
	servers := map[string]*config.Server{}
	add := func(alias string, script mcptest.Script) {
		r := rule("echo")
		r.Timeout, r.MaxOutput = soakTimeout, 64<<10
		s := &config.Server{Startup: time.Minute, Allowed: rules(r)}
		if web {
			s.HTTP = &config.HTTP{URL: script.HTTP(t).URL}
		} else {
			path, args := script.Command()
			s.Stdio = &config.Stdio{Command: path, Args: args}
		}
		servers[alias] = s
	}
	add("good", mcptest.Good())
	for _, do := range soakFaults {
		add(string(do), mcptest.Good().With(mcptest.Fault{At: mcptest.CallTool, Do: do, Size: 8 << 20}))
	}
	return servers
}

func runSoak(t *testing.T, web bool) {
	c := newClient(t, soakServers(t, web))
	var mu sync.Mutex
	var late time.Duration
	var heaps []uint64
	jobs := make(chan int)
	var all sync.WaitGroup
	for range soakCallers {
		all.Go(func() {
			for i := range jobs {
				over := soakCall(t, c, i)
				mu.Lock()
				late = max(late, over)
				mu.Unlock()
			}
		})
	}
	for i := range *soak {
		jobs <- i
		if i%(max(*soak/10, 1)) == 0 {
			heaps = append(heaps, heap())
		}
	}
	close(jobs)
	all.Wait()
	_ = c.Close()
	t.Logf("%d sessions; worst past its deadline: %v; heap in KiB over time: %v", *soak, late.Round(time.Microsecond), heaps)
	if late > 5*slack {
		t.Errorf("a caller came back %v past its deadline", late)
	}
	if n := len(heaps); n > 4 && !web && heaps[n-1] > heaps[2]+4096 {
		t.Errorf("the heap grows: %v KiB", heaps)
	}
}

// soakCall makes one call, judges it, and returns how far past its deadline it came back.
func soakCall(t *testing.T, c *Client, i int) time.Duration {
	alias := "good"
	if i%20 == 19 {
		alias = string(soakFaults[i/20%len(soakFaults)])
	}
	want := fmt.Sprintf(`{"n":%d}`, i)
	began := time.Now()
	r, err := c.CallTool(t.Context(), alias, "echo", json.RawMessage(want), nobody)
	took := time.Since(began)
	var e *registry.Error
	switch {
	case alias == "good" && (err != nil || !strings.Contains(string(r.Raw), want)):
		t.Errorf("call %d: %+v %v", i, r, err)
	case err != nil && !errors.As(err, &e):
		t.Errorf("call %d: %v", i, err)
	}
	return took - soakTimeout
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc >> 10
}
