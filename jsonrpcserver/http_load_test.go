package jsonrpcserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cupule/cupule/registry"
)

// largeResult is an operation whose result no socket buffer holds.
func largeResult(ran *atomic.Int64) registry.Operation {
	return registry.Operation{Name: "large", MaxOutput: 64 << 20, Handler: func(context.Context, *registry.Call) (json.RawMessage, error) {
		ran.Add(1)
		return json.RawMessage(`"` + strings.Repeat("x", 32<<20) + `"`), nil
	}}
}

// A result that a client doesn't read holds its slot, so that such results can't pile up.
func TestHTTPSlotsAreHeldUntilTheWrite(t *testing.T) {
	var ran atomic.Int64
	s, l := httpListener(t, Backend{Registry: newRegistry(t, largeResult(&ran))}, &Options{MaxCalls: 1}, nil)
	stuck, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer stuck.Close()
	body := `{"jsonrpc":"2.0","method":"large","id":1}`
	fmt.Fprintf(stuck, "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if _, err := io.ReadFull(stuck, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, _, answer := post(t, l, callEcho); !strings.Contains(answer, "-32003") {
			t.Errorf("%.200s", answer)
		}
	}
	if n := s.Stats().Calls; n != 1 {
		t.Errorf("%d calls hold slots", n)
	}
	stuck.Close()
	for deadline := time.Now().Add(hang); s.Stats().Calls > 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if _, _, answer := post(t, l, callEcho); !strings.Contains(answer, `"result":null`) {
		t.Errorf("%.200s", answer)
	}
}

// A client of server-sent events that stops reading is dropped after the write deadline, and
// its call's slot is free again.
func TestEventsThatNobodyReads(t *testing.T) {
	var ran atomic.Int64
	s, l := httpListener(t, Backend{Registry: newRegistry(t, largeResult(&ran), progressing(5000, 8000))}, &Options{WriteTimeout: 50 * time.Millisecond}, nil)
	for _, method := range []string{"large", "work"} {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		body := `{"jsonrpc":"2.0","method":"` + method + `","id":1,"meta":{"progressToken":1}}`
		fmt.Fprintf(conn, "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		if _, err := io.ReadFull(conn, make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for ran.Load() == 0 || method == "work" && s.Stats().DroppedProgress == 0 {
			time.Sleep(time.Millisecond)
		}
		for s.Stats().Calls > 0 && time.Since(began) < hang {
			time.Sleep(time.Millisecond)
		}
		if n := s.Stats().Calls; n != 0 {
			t.Errorf("%s: %d calls hold slots after %v", method, n, time.Since(began))
		}
	}
	post(t, l, callEcho)
}

// On one HTTP/2 connection many calls run at once, as many as a connection may have; one that
// is given up is cancelled alone.
func TestHTTP2Streams(t *testing.T) {
	const n = 40
	g := newGate()
	server, trusting := certificate(t)
	s, l := httpListener(t, Backend{Registry: newRegistry(t, g.operation())}, &Options{MaxInFlight: n}, func(e *Endpoint) { e.Scheme, e.TLS = "https", server })
	var protocols http.Protocols
	protocols.SetHTTP2(true)
	transport := &http.Transport{TLSClientConfig: trusting, Protocols: &protocols}
	defer transport.CloseIdleConnections()
	ask := func(ctx context.Context, body string) string {
		req, _ := http.NewRequestWithContext(ctx, "POST", "https://"+l.Addr().String()+"/rpc", strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		resp, err := transport.RoundTrip(req)
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		answer, _ := io.ReadAll(resp.Body)
		return string(answer)
	}
	if got := ask(t.Context(), callEcho); !strings.Contains(got, `"result":null`) {
		t.Fatal(got)
	}
	givenUp, giveUp := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { ask(givenUp, `{"jsonrpc":"2.0","method":"gate","id":0}`) })
	g.waitStarted(t, 1)
	for i := range n - 2 {
		all.Go(func() {
			if got := ask(t.Context(), fmt.Sprintf(`{"jsonrpc":"2.0","method":"gate","id":%d}`, i+1)); !strings.Contains(got, "opened") {
				t.Error(got)
			}
		})
	}
	g.waitStarted(t, n-2)
	if c := s.Stats(); c.Connections != 1 || c.Calls != n-1 {
		t.Errorf("%+v", c)
	}
	batch := "[" + callEcho + "," + callEcho + "]"
	if got := ask(t.Context(), strings.ReplaceAll(batch, "echo", "slow")); strings.Count(got, "-32003") != 1 {
		t.Errorf("of a batch past the limit: %s", got)
	}
	giveUp()
	g.waitCancelled(t)
	if got := ask(t.Context(), callEcho); !strings.Contains(got, `"result":null`) {
		t.Error(got)
	}
	close(g.open)
}

// Requests that run when the server drains are answered over HTTP/2, and the connection is
// closed then.
func TestHTTP2Drain(t *testing.T) {
	forEachVersion(t, func(t *testing.T, version string, c *http.Client, post func(context.Context, string) *http.Request, g *gate) {
		s := newServer(t, Backend{Registry: newRegistry(t, g.operation())}, nil)
		server, _ := certificate(t)
		l, err := s.Listen(t.Context(), Endpoint{Scheme: "https", Address: "127.0.0.1:0", Anonymous: true, TLS: server})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Serve(ctx, l) }()
		answer := make(chan string, 1)
		go func() {
			req := post(t.Context(), `{"jsonrpc":"2.0","method":"gate","id":1}`)
			req.URL.Host = l.Addr().String()
			resp, err := c.Do(req)
			if err != nil {
				answer <- err.Error()
				return
			}
			defer resp.Body.Close()
			text, _ := io.ReadAll(resp.Body)
			answer <- string(text)
		}()
		g.waitStarted(t, 1)
		cancel()
		<-s.drained
		close(g.open)
		if got := <-answer; !strings.Contains(got, "opened") {
			t.Error(got)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(hang):
			t.Error("Serve didn't return")
		}
	})
}

// A call over HTTP that outlasts the grace is cancelled and told why, and health says so
// from the beginning of the drain.
func TestHTTPDrainCancels(t *testing.T) {
	g := newGate()
	s := newServer(t, Backend{Registry: newRegistry(t, g.operation())}, &Options{Grace: 200 * time.Millisecond})
	l, err := s.Listen(t.Context(), Endpoint{Scheme: "http", Address: "127.0.0.1:0", Anonymous: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done, answer := make(chan error, 1), make(chan string, 1)
	go func() { done <- s.Serve(ctx, l) }()
	go func() {
		_, _, body := post(t, l, `{"jsonrpc":"2.0","method":"gate","id":1}`)
		answer <- body
	}()
	g.waitStarted(t, 1)
	cancel()
	if got := <-answer; !strings.Contains(got, "-32010") {
		t.Error(got)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A connection on which nothing runs doesn't hold up the end: neither one that has sent
// nothing, nor one with half a header or half a body.
func TestHTTPDrainWaitsForNoHalves(t *testing.T) {
	head := "POST /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
	for name, sent := range map[string]string{
		"nothing": "", "half a header": head, "half a body": head + "Content-Length: 50\r\n\r\n{", "half a chunk": head + "Transfer-Encoding: chunked\r\n\r\n9\r\n{",
	} {
		s := newServer(t, Backend{}, &Options{Grace: time.Hour})
		l, err := s.Listen(t.Context(), Endpoint{Scheme: "http", Address: "127.0.0.1:0", Anonymous: true})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Serve(ctx, l) }()
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, sent); err != nil {
			t.Fatal(err)
		}
		post(t, l, `{"jsonrpc":"2.0","method":"none","id":1}`) // so what came before was accepted
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(hang):
			t.Errorf("%s: the server waits for it", name)
		}
		conn.Close()
	}
}

// What runs is waited for, and a second more; nothing but that second where nothing runs.
func TestCancelWhenQuiet(t *testing.T) {
	for runs, want := range map[time.Duration]time.Duration{0: closeDelay, 3010 * time.Millisecond: 3010*time.Millisecond + closeDelay, time.Hour: time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var running atomic.Int64
			if runs > 0 {
				running.Add(1)
				defer time.AfterFunc(runs, func() { running.Add(-1) }).Stop()
			}
			began := time.Now()
			cancelWhenQuiet(ctx, cancel, &running)
			if took := time.Since(began); ctx.Err() == nil || (took-want).Abs() > closeDelay/10 {
				t.Errorf("a call of %v: it ends after %v", runs, took)
			}
		})
	}
}

// An idle HTTP connection is closed, and a surplus one refused until then.
func TestHTTPIdleDeadline(t *testing.T) {
	s, l := httpListener(t, Backend{}, &Options{IdleTimeout: 100 * time.Millisecond, MaxConnections: 1}, nil)
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(hang))
	fmt.Fprintf(conn, "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(callEcho), callEcho)
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if _, err := in.ReadByte(); err != io.EOF {
		t.Errorf("%v, want the connection closed", err)
	}
	for deadline := time.Now().Add(hang); s.Stats().Connections > 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if _, _, answer := post(t, l, callEcho); !strings.Contains(answer, `"result":null`) {
		t.Error(answer)
	}
}

// What a browser asks before it posts from a page of another origin, and what it needs to
// hear to go on.
func TestPreflight(t *testing.T) {
	const app = "https://app.example.org"
	_, l := httpListener(t, withCallers(t), nil, func(e *Endpoint) { e.Anonymous, e.Origins = false, []string{app} })
	for _, row := range []struct {
		name, method, origin, asks string
		status                     int
		allowed                    bool
	}{
		{"listed", "OPTIONS", app, "POST", 204, true},
		{"listed, in capitals", "OPTIONS", "HTTPS://APP.example.org", "POST", 204, true},
		{"other method", "OPTIONS", app, "PUT", 405, true},
		{"no question", "OPTIONS", app, "", 405, true},
		{"unlisted", "OPTIONS", "https://evil.example.org", "POST", 403, false},
		{"below a listed one", "OPTIONS", app + ".evil.example", "POST", 403, false},
		{"other port", "OPTIONS", app + ":8443", "POST", 403, false},
		{"plain", "OPTIONS", "http://app.example.org", "POST", 403, false},
		{"sandboxed", "OPTIONS", "null", "POST", 403, false},
		{"answer without token", "POST", app, "", 401, true},
		{"unlisted post", "POST", "https://evil.example.org", "", 403, false},
	} {
		req, _ := http.NewRequest(row.method, "http://"+l.Addr().String()+"/rpc", strings.NewReader(callEcho))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Origin", row.origin)
		if row.asks != "" {
			req.Header.Set("Access-Control-Request-Method", row.asks)
			req.Header.Set("Access-Control-Request-Headers", "authorization,content-type")
		}
		status, header, body := do(t, http.DefaultClient, req)
		if status != row.status {
			t.Errorf("%s: %d %s", row.name, status, body)
		}
		if got := header.Get("Access-Control-Allow-Origin"); (got == row.origin) != row.allowed || got == "*" || header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: allows %q", row.name, got)
		}
		if row.allowed && header.Get("Vary") != "Origin" {
			t.Errorf("%s: varies by %q", row.name, header.Get("Vary"))
		}
		if allowed := header.Get("Access-Control-Allow-Headers"); status == 204 &&
			(!strings.Contains(allowed, "authorization") || !strings.Contains(allowed, "content-type") || header.Get("Access-Control-Allow-Methods") != "POST") {
			t.Errorf("%s: %v", row.name, header)
		}
	}
}
