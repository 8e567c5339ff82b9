package soak

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/mcpclient"
	"github.com/cupule/cupule/mcpclient/mcptest"
	"github.com/cupule/cupule/registry"
)

var (
	sessions = flag.Int("sessions", 0, "sessions to run over each transport; 0 runs none")
	serving  = flag.Bool("serving", false, "serve over HTTP until standard input ends")
)

func TestMain(m *testing.M) {
	mcptest.Main()
	flag.Parse()
	os.Exit(m.Run())
}

const (
	callers  = 4
	deadline = 400 * time.Millisecond // of a faulted call
	patience = 30 * time.Second       // of a healthy one
	every    = 20                     // one call in so many is faulted
)

// faults are what the broken servers do, each to its calls.
var faults = []mcptest.Behaviour{
	mcptest.Silent, mcptest.CrashAmid, mcptest.WrongID, mcptest.HalfLine, mcptest.HugeResult, mcptest.NullResult, mcptest.Twice, mcptest.Flood,
}

func faulty(do mcptest.Behaviour) mcptest.Script {
	return mcptest.Good().With(mcptest.Fault{At: mcptest.CallTool, Do: do, Size: 4 << 20, Count: 500})
}

func TestStdio(t *testing.T) {
	run(t, func(script mcptest.Script) *config.Server {
		path, args := script.Command()
		return &config.Server{Stdio: &config.Stdio{Command: path, Args: args}}
	})
}

func TestHTTP(t *testing.T) {
	var urls []string
	run(t, func(mcptest.Script) *config.Server {
		if urls == nil {
			urls = serveElsewhere(t)
		}
		server := &config.Server{HTTP: &config.HTTP{URL: urls[0]}}
		urls = urls[1:]
		return server
	})
}

// TestServe is what serveElsewhere starts: it serves over HTTP until its input ends.
func TestServe(t *testing.T) {
	if !*serving {
		t.Skip("TestHTTP starts this by itself")
	}
	fmt.Println(mcptest.Good().HTTP(t).URL)
	for _, do := range faults {
		fmt.Println(faulty(do).HTTP(t).URL)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// serveElsewhere serves over HTTP in a process of its own, so that what the servers keep
// is not taken for the client's. It returns the URL of the healthy server, and then those
// of the faulty ones.
func serveElsewhere(t *testing.T) []string {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestServe$", "-serving")
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = child.Wait()
	})
	var urls []string
	for lines := bufio.NewScanner(stdout); len(urls) <= len(faults) && lines.Scan(); {
		urls = append(urls, lines.Text())
	}
	if len(urls) <= len(faults) {
		t.Fatal("the servers don't start")
	}
	return urls
}

// run makes all the calls over one transport.
func run(t *testing.T, serve func(mcptest.Script) *config.Server) {
	if *sessions == 0 {
		t.Skip("tell it how many: go test -v -timeout 60m ./internal/soak -sessions 10000")
	}
	t.Logf("%d sessions, %d at a time, one in %d faulted", *sessions, callers, every)
	cfg := &config.Config{MCP: map[string]*config.Server{"healthy": declare("healthy", serve(mcptest.Good()), patience)}}
	for i, do := range faults {
		alias := fmt.Sprint("faulty", i)
		cfg.MCP[alias] = declare(alias, serve(faulty(do)), deadline)
	}
	s := &soak{t: t, outcomes: map[string]int{}}
	var err error
	if s.client, err = mcpclient.New(cfg, nil); err != nil {
		t.Fatal(err)
	}
	s.batch(8 * every) // whatever is made once exists from here on
	before := measure()
	var peaks []uint64
	for range 10 {
		s.batch(*sessions / 10)
		peaks = append(peaks, measure().heap)
	}
	if err := s.client.Close(); err != nil {
		t.Error(err)
	}
	s.report(before, peaks)
}

func declare(alias string, s *config.Server, timeout time.Duration) *config.Server {
	s.Alias, s.Startup = alias, patience
	s.Allowed = map[string]*config.Rule{"echo": {Name: "echo", Timeout: timeout, MaxOutput: config.DefaultMaxOutput}}
	return s
}

type soak struct {
	t      *testing.T
	client *mcpclient.Client
	next   atomic.Int64

	mu       sync.Mutex // guards what follows
	outcomes map[string]int
	latest   time.Duration
}

// batch makes n calls from several callers, and returns when all have been answered.
func (s *soak) batch(n int) {
	var wg sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(n))
	for range callers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				s.call(s.next.Add(1))
			}
		})
	}
	wg.Wait()
}

func (s *soak) call(n int64) {
	if n%every == 0 {
		s.faulted(n / every % int64(len(faults)))
		return
	}
	text := fmt.Sprintf("call %d", n)
	arguments, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		s.t.Error(err)
		return
	}
	result, err := s.client.CallTool(context.Background(), "healthy", "echo", arguments, effects.Invocation{})
	var answer struct{ StructuredContent struct{ Text string } }
	if err == nil {
		err = json.Unmarshal(result.Raw, &answer)
	}
	if err != nil || answer.StructuredContent.Text != text {
		s.t.Errorf("%s: got %q, %v", text, answer.StructuredContent.Text, err)
	}
	s.count("healthy: right")
}

func (s *soak) faulted(which int64) {
	began := time.Now()
	_, err := s.client.CallTool(context.Background(), fmt.Sprint("faulty", which), "echo", nil, effects.Invocation{})
	took := time.Since(began)
	outcome := "ok"
	if failure, ok := errors.AsType[*registry.Error](err); ok {
		outcome = string(failure.Kind) + ", " + string(failure.Ran)
	}
	s.count(fmt.Sprintf("%s: %s", faults[which], outcome))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest = max(s.latest, took-deadline)
}

func (s *soak) count(outcome string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcomes[outcome]++
}

// state is what a process holds.
type state struct {
	heap                    uint64
	goroutines, files, kids int
}

func measure() state {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return state{m.HeapInuse + m.StackInuse, runtime.NumGoroutine(), descriptors(), children()}
}

func (s *soak) report(before state, peaks []uint64) {
	for _, outcome := range slices.Sorted(func(yield func(string) bool) {
		for o := range s.outcomes {
			if !yield(o) {
				return
			}
		}
	}) {
		s.t.Logf("%7d %s", s.outcomes[outcome], outcome)
	}
	after := settle(before)
	s.t.Logf("memory in use: %d KiB before, then %v KiB", before.heap>>10, kib(peaks))
	s.t.Logf("latest return past its deadline: %v", s.latest)
	if after.goroutines > before.goroutines || after.files > before.files || after.kids > before.kids {
		s.t.Errorf("something is left: %+v, before %+v", after, before)
	}
	if early, late := slices.Max(peaks[:3]), slices.Max(peaks[7:]); late > early+early/4+(2<<20) {
		s.t.Errorf("memory grows: %d KiB, then %d KiB", early>>10, late>>10)
	}
}

func kib(list []uint64) []uint64 {
	list = slices.Clone(list)
	for i := range list {
		list[i] >>= 10
	}
	return list
}

// settle waits for what is on its way out.
func settle(before state) state {
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		now := measure()
		if now.goroutines <= before.goroutines && now.files <= before.files && now.kids <= before.kids || time.Now().After(end) {
			return now
		}
	}
}
