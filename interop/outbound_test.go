package interop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/mcpclient"
	"github.com/cupule/cupule/registry"
)

// What a configuration allows of server-everything: the tools that it has, those that it has
// for clients with more capabilities, and one that it never had.
const allowed = `
    allowed:
      echo: {effects: []}
      get-sum: {effects: []}
      get-env: {effects: []}
      get-tiny-image: {effects: []}
      get-annotated-message: {effects: []}
      get-structured-content: {effects: []}
      get-resource-links: {effects: []}
      get-resource-reference: {effects: []}
      gzip-file-as-resource: {effects: [network_read, mutation]}
      toggle-simulated-logging: {effects: [mutation]}
      toggle-subscriber-updates: {effects: [mutation]}
      trigger-long-running-operation: {effects: [], timeout: 20}
      simulate-research-query: {effects: [mutation]}
      trigger-sampling-request: {effects: [inference]}
      trigger-elicitation-request: {effects: [mutation]}
      get-roots-list: {effects: []}
      get-nothing: {effects: []}
    resources:
      "demo://resource/*": {effects: []}
    prompts:
      simple-prompt: {effects: []}
      args-prompt: {effects: []}
      completable-prompt: {effects: []}
      resource-prompt: {effects: []}
`

// everybody may do what the configuration above declares.
var everybody = effects.NewInvocation(effects.Authority{Authorized: effects.NewSet(effects.Mutation, effects.Inference)})

// stdio configures a server that runs as a child.
func stdio(command string, args ...string) string {
	return fmt.Sprintf("    stdio: {command: %s, args: %s}\n    startup: 30", quote(command), quote(append([]string{}, args...)))
}

// viaTee configures the same, with a tee in between that writes to file.
func viaTee(t *testing.T, file, command string, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return stdio(self, append([]string{teeCommand, file, command}, args...)...)
}

// quote writes a value as YAML, of which JSON is a part.
func quote(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// connect makes a client of one server.
func connect(t *testing.T, server string, env map[string]string) *mcpclient.Client {
	t.Helper()
	text := "mcp:\n  everything:\n" + strings.TrimRight(server, "\n") + allowed
	cfg, err := config.Parse(filepath.Join(t.TempDir(), "app.yaml"), []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	c, err := mcpclient.New(cfg, &mcpclient.Options{
		Name: "interop", Version: "1",
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		Observer:  observer{transportOf(server)},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func transportOf(server string) string {
	if strings.Contains(server, "    http:") {
		return "Streamable HTTP"
	}
	return "stdio"
}

// observer reports what was called over a transport.
type observer struct{ transport string }

func (o observer) Observe(_ context.Context, e registry.Event) {
	if e.Err == nil {
		report("out", o.transport, strings.TrimPrefix(strings.Replace(e.Subject.String(), "everything/", "", 1), "tool "))
	}
}

// overBoth runs a test with server-everything as a child, and as a web server.
func overBoth(t *testing.T, test func(t *testing.T, c *mcpclient.Client)) {
	t.Run("stdio", func(t *testing.T) {
		p := need(t)
		test(t, connect(t, stdio(p.node, p.everything(), "stdio"), nil))
	})
	t.Run("http", func(t *testing.T) {
		p := need(t)
		test(t, connect(t, overHTTP(serveEverything(t, p)), nil))
	})
}

func overHTTP(address string) string {
	return fmt.Sprintf("    http: {url: %s}", quote(address))
}

// serveEverything starts server-everything as a web server on loopback and returns its address.
func serveEverything(t *testing.T, p *peers) string {
	t.Helper()
	cmd := exec.Command(p.node, "--require", script(t, "loopback.cjs"), p.everything(), "streamableHttp")
	cmd.Env = []string{"PORT=0"}
	errors, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := newLog(errors)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		said.wait()
		_ = cmd.Wait()
	})
	port := said.find(t, "listening on ")
	return "http://" + port + "/mcp"
}

// log collects the lines that a process writes.
type log struct {
	mu    sync.Mutex
	lines []string
	grown chan struct{} // closed and replaced at each line
	done  chan struct{}
}

func newLog(r io.Reader) *log {
	l := &log{grown: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		for scan := bufio.NewScanner(r); scan.Scan(); {
			l.mu.Lock()
			l.lines = append(l.lines, scan.Text())
			close(l.grown)
			l.grown = make(chan struct{})
			l.mu.Unlock()
		}
	}()
	return l
}

func (l *log) wait() { <-l.done }

func (l *log) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

// find waits for a line with a mark in it and returns what follows the mark.
func (l *log) find(t *testing.T, mark string) string {
	t.Helper()
	hang := time.After(guard)
	for {
		l.mu.Lock()
		grown := l.grown
		for _, text := range l.lines {
			if _, rest, ok := strings.Cut(text, mark); ok {
				l.mu.Unlock()
				return rest
			}
		}
		l.mu.Unlock()
		select {
		case <-grown:
		case <-l.done:
			t.Fatalf("it ended without %q:\n%s", mark, l.text())
		case <-hang:
			t.Fatalf("there was no %q within %v:\n%s", mark, guard, l.text())
		}
	}
}

// exchange is one request that went through a watch.
type exchange struct {
	Verb   string
	Header http.Header
	line
}

// watch stands in front of a web server and notes the requests that pass.
type watch struct {
	mu   sync.Mutex
	list []exchange
}

// startWatch returns a watch and the address to use instead of the one given.
func startWatch(t *testing.T, address string) (*watch, string) {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	w := &watch{}
	transport := &http.Transport{DisableKeepAlives: true}
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1, Transport: transport,
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: target.Scheme, Host: target.Host}) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.note(r)
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	return w, server.URL + target.Path
}

func (w *watch) note(r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	e := exchange{Verb: r.Method, Header: r.Header.Clone(), line: line{toServer: true, text: string(body)}}
	_ = json.Unmarshal(body, &e.line)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, e)
}

func (w *watch) exchanges() []exchange {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]exchange(nil), w.list...)
}

// await waits until the server has seen a message of this method.
func (w *watch) await(t *testing.T, method string) exchange {
	t.Helper()
	return w.find(t, method, func(e exchange) bool { return e.Method == method })
}

// verb waits until the server has seen a request with this verb.
func (w *watch) verb(t *testing.T, verb string) {
	t.Helper()
	w.find(t, verb, func(e exchange) bool { return e.Verb == verb })
}

func (w *watch) find(t *testing.T, what string, match func(exchange) bool) exchange {
	t.Helper()
	for end := time.Now().Add(guard); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		list := w.exchanges()
		if i := slices.IndexFunc(list, match); i >= 0 {
			return list[i]
		}
	}
	t.Fatalf("the server saw no %s", what)
	return exchange{}
}
