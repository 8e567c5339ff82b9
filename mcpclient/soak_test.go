package mcpclient

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/internal/proc"
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

// soakServers configures a good server and a bad one for each fault. None of them is in this
// process, and none keeps a record: nothing here may grow but the client.
func soakServers(t *testing.T, web bool) map[string]*config.Server {
	servers := map[string]*config.Server{}
	url := ""
	if web {
		url = startWeb(t)
	}
	for _, do := range append(soakFaults, "good") {
		r := rule("echo")
		r.Timeout, r.MaxOutput = soakTimeout, 64<<10
		s := &config.Server{Startup: time.Minute, Allowed: rules(r)}
		if web {
			s.HTTP = &config.HTTP{URL: url + "/" + string(do)}
		} else {
			script := mcptest.Good()
			if do != "good" {
				script = script.With(mcptest.Fault{At: mcptest.CallTool, Do: do, Size: 8 << 20})
			}
			path, args := script.Command()
			s.Stdio = &config.Stdio{Command: path, Args: args}
		}
		servers[string(do)] = s
	}
	return servers
}

// startWeb starts a real server over HTTP as a child, and returns its URL.
func startWeb(t *testing.T) string {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child, err := proc.Start(proc.Spec{Path: exe, Env: []string{serverVariable + "=web"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { child.Close() })
	line, err := bufio.NewReader(child.Stdout()).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// serveWeb is that child: the go-sdk's server, and in front of it one path for each fault.
func serveWeb() error {
	real := sdkServer()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return real }, &mcp.StreamableHTTPOptions{Stateless: true})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		m := parse(body)
		if string(m.method) != `"tools/call"` || !webFault(w, r, string(m.id)) {
			handler.ServeHTTP(w, r)
		}
	}))
}

// webFault misbehaves as the path says, and reports whether it did.
func webFault(w http.ResponseWriter, r *http.Request, id string) bool {
	body := `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[]}}`
	w.Header().Set("Content-Type", "application/json")
	switch mcptest.Behaviour(strings.TrimPrefix(r.URL.Path, "/")) {
	case mcptest.Silent:
		<-r.Context().Done()
	case mcptest.CrashBefore:
		panic(http.ErrAbortHandler)
	case mcptest.CrashAmid, mcptest.CrashAfter:
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, body[:20])
	case mcptest.NullResult:
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+`,"result":null}`)
	case mcptest.HugeResult:
		_, _ = io.WriteString(w, body[:len(body)-2]+`,"x":"`+strings.Repeat("x", 8<<20)+`"}}`)
	case mcptest.WrongID:
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	case mcptest.ErrorReply:
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		w.Header().Del("Content-Type")
		return false
	}
	return true
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
	if late > slack {
		t.Errorf("a caller came back %v past its deadline", late)
	}
	if n := len(heaps); n > 4 && heaps[n-1] > heaps[2]+4096 {
		t.Errorf("the heap grows: %v KiB", heaps)
	}
}

// soakCall makes one call, judges it, and returns how far past its deadline it came back.
func soakCall(t *testing.T, c *Client, i int) time.Duration {
	alias := "good"
	if i%20 == 19 {
		alias = string(soakFaults[i/20%len(soakFaults)])
	}
	want := fmt.Sprintf(`call %d`, i)
	began := time.Now()
	r, err := c.CallTool(t.Context(), alias, "echo", json.RawMessage(`{"text":"`+want+`"}`), nobody)
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
