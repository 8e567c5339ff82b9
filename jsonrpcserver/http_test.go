package jsonrpcserver

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cupule/cupule/registry"
)

const callEcho = `{"jsonrpc":"2.0","method":"echo","id":1}`

func httpListener(t testing.TB, b Backend, opts *Options, change func(*Endpoint)) (*Server, *Listener) {
	t.Helper()
	s := newServer(t, b, opts)
	e := Endpoint{Scheme: "http", Address: "127.0.0.1:0", Anonymous: true}
	if change != nil {
		change(&e)
	}
	return s, listen(t, s, e)
}

func TestHTTPStatus(t *testing.T) {
	_, l := httpListener(t, Backend{}, &Options{MaxMessage: 1000}, func(e *Endpoint) {
		e.Hosts, e.Origins = []string{"api.example.org"}, []string{"https://app.example.org"}
	})
	base := "http://" + l.Addr().String()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(z, callEcho)
	_ = z.Close()
	for _, test := range []struct {
		name, method, path, body string
		header                   []string
		want                     int
	}{
		{"call", "POST", "/rpc", callEcho, nil, 200},
		{"failing call", "POST", "/rpc", `{"jsonrpc":"2.0","method":"nothing","id":1}`, nil, 200},
		{"denied call", "POST", "/rpc", `{"jsonrpc":"2.0","method":"mutate","id":1}`, nil, 200},
		{"notification", "POST", "/rpc", `{"jsonrpc":"2.0","method":"echo"}`, nil, 204},
		{"failing notification", "POST", "/rpc", `{"jsonrpc":"2.0","method":"nothing"}`, nil, 204},
		{"batch of notifications", "POST", "/rpc", `[{"jsonrpc":"2.0","method":"echo"}]`, nil, 204},
		{"response", "POST", "/rpc", `{"jsonrpc":"2.0","result":1,"id":1}`, nil, 204},
		{"cancellation", "POST", "/rpc", `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`, nil, 204},
		{"charset", "POST", "/rpc", callEcho, []string{"Content-Type", "application/json; charset=UTF-8"}, 200},
		{"other charset", "POST", "/rpc", callEcho, []string{"Content-Type", "application/json; charset=latin1"}, 415},
		{"text", "POST", "/rpc", callEcho, []string{"Content-Type", "text/plain"}, 415},
		{"form", "POST", "/rpc", callEcho, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		{"no type", "POST", "/rpc", callEcho, []string{"Content-Type", ""}, 415},
		{"gzip", "POST", "/rpc", zipped.String(), []string{"Content-Encoding", "gzip"}, 415},
		{"identity", "POST", "/rpc", callEcho, []string{"Content-Encoding", "identity"}, 200},
		{"too large", "POST", "/rpc", `["` + strings.Repeat("x", 1000) + `"]`, nil, 413},
		{"GET", "GET", "/rpc", "", nil, 405},
		{"PUT", "PUT", "/rpc", callEcho, nil, 405},
		{"elsewhere", "POST", "/other", callEcho, nil, 404},
		{"below", "POST", "/rpc/x", callEcho, nil, 404},
		{"live", "GET", "/healthz", "", nil, 200},
		{"ready", "GET", "/readyz", "", nil, 200},
		{"live HEAD", "HEAD", "/healthz", "", nil, 200},
		{"live POST", "POST", "/healthz", "", nil, 405},
		{"localhost", "POST", "/rpc", callEcho, []string{"Host", "localhost:99"}, 200},
		{"IPv6 loopback", "POST", "/rpc", callEcho, []string{"Host", "[::1]:99"}, 200},
		{"named host", "POST", "/rpc", callEcho, []string{"Host", "API.example.org"}, 200},
		{"rebound host", "POST", "/rpc", callEcho, []string{"Host", "evil.example"}, 403},
		{"rebound host with port", "POST", "/rpc", callEcho, []string{"Host", "evil.example:80"}, 403},
		{"name below localhost", "POST", "/rpc", callEcho, []string{"Host", "localhost.evil.example"}, 403},
		{"other address", "POST", "/rpc", callEcho, []string{"Host", "10.1.2.3"}, 403},
		{"health for any host", "GET", "/healthz", "", []string{"Host", "10.1.2.3"}, 200},
		{"same origin", "POST", "/rpc", callEcho, []string{"Origin", base}, 200},
		{"listed origin", "POST", "/rpc", callEcho, []string{"Origin", "https://app.example.org"}, 200},
		{"other origin", "POST", "/rpc", callEcho, []string{"Origin", "https://evil.example"}, 403},
		{"other port", "POST", "/rpc", callEcho, []string{"Origin", "http://127.0.0.1:1"}, 403},
		{"null origin", "POST", "/rpc", callEcho, []string{"Origin", "null"}, 403},
		{"preflight", "OPTIONS", "/rpc", "", []string{"Origin", "https://app.example.org", "Access-Control-Request-Method", "POST"}, 204},
		{"preflight elsewhere", "OPTIONS", "/rpc", "", []string{"Origin", "https://evil.example", "Access-Control-Request-Method", "POST"}, 403},
		{"OPTIONS", "OPTIONS", "/rpc", "", nil, 405},
		{"wrong token", "POST", "/rpc", callEcho, []string{"Authorization", "Bearer guess"}, 401},
	} {
		req, err := http.NewRequest(test.method, base+test.path, strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(test.header); i += 2 {
			req.Header.Set(test.header[i], test.header[i+1])
		}
		if host := req.Header.Get("Host"); host != "" {
			req.Host = host
			req.Header.Del("Host")
		}
		status, header, body := do(t, http.DefaultClient, req)
		if status != test.want {
			t.Errorf("%s: status %d, want %d: %s", test.name, status, test.want, body)
		}
		switch status {
		case 204:
			if body != "" {
				t.Errorf("%s: body %q", test.name, body)
			}
		case 405:
			if header.Get("Allow") == "" {
				t.Errorf("%s: no Allow", test.name)
			}
		case 401:
			if header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s: no WWW-Authenticate", test.name)
			}
		case 413:
			if err := sameReply(refused(-32600, "null"), body); err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
		}
	}
}

func TestHTTPBatchTooLong(t *testing.T) {
	_, l := httpListener(t, Backend{}, &Options{MaxBatch: 2}, nil)
	status, _, body := post(t, l, "["+callEcho+","+callEcho+","+callEcho+"]")
	if err := sameReply(refused(-32600, "null"), body); status != 413 || err != nil {
		t.Error(status, err)
	}
}

// A body of unknown length is cut off at the limit.
func TestHTTPChunkedBody(t *testing.T) {
	_, l := httpListener(t, Backend{}, &Options{MaxMessage: 1000}, nil)
	for n, want := range map[int]int{10: 200, 5000: 413} {
		body := io.MultiReader(strings.NewReader(`{"jsonrpc":"2.0","method":"echo","id":1,"params":["`), io.LimitReader(letters{}, int64(n)), strings.NewReader(`"]}`))
		req, _ := http.NewRequest("POST", "http://"+l.Addr().String()+"/rpc", body)
		req.Header.Set("Content-Type", "application/json")
		if status, _, text := do(t, http.DefaultClient, req); status != want {
			t.Errorf("%d: status %d, %s", n, status, text)
		}
	}
}

type letters struct{}

func (letters) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("x"), len(p))), nil }

func TestHTTPTokens(t *testing.T) {
	_, l := httpListener(t, withCallers(t), nil, func(e *Endpoint) { e.Anonymous = false })
	for _, test := range []struct {
		header []string
		status int
		want   string
	}{
		{nil, 401, refused(-32002, "null")},
		{[]string{"Authorization", "Bearer"}, 401, refused(-32002, "null")},
		{[]string{"Authorization", "Bearer "}, 401, refused(-32002, "null")},
		{[]string{"Authorization", "Bearer admin-token2"}, 401, refused(-32002, "null")},
		{[]string{"Authorization", "Basic admin-token"}, 401, refused(-32002, "null")},
		{[]string{"Authorization", "admin-token"}, 401, refused(-32002, "null")},
		{[]string{"Authorization", "Bearer admin-token"}, 200, result("admin via http: mutation, inference, offline false, at most 5000", "1")},
		{[]string{"Authorization", "bearer  admin-token"}, 200, result("admin via http: mutation, inference, offline false, at most 5000", "1")},
		{[]string{"Authorization", "Bearer reader-token"}, 200, refused(-32001, "1")},
	} {
		status, header, body := post(t, l, callWhoami, test.header...)
		if err := sameReply(test.want, body); err != nil || status != test.status {
			t.Errorf("%v: status %d, %v", test.header, status, err)
		}
		if (status == 401) != (header.Get("WWW-Authenticate") != "") {
			t.Errorf("%v: WWW-Authenticate %q", test.header, header.Get("WWW-Authenticate"))
		}
	}
	_, _, body := post(t, l, authenticateAdmin, "Authorization", "Bearer reader-token")
	if err := sameReply(refused(-32600, `"a"`), body); err != nil {
		t.Error(err)
	}
}

// Closing the request cancels its call, over either version.
func TestHTTPDisconnectCancels(t *testing.T) {
	forEachVersion(t, func(t *testing.T, version string, c *http.Client, post func(ctx context.Context, body string) *http.Request, g *gate) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if resp, err := c.Do(post(ctx, `{"jsonrpc":"2.0","method":"gate","id":1}`)); err == nil {
				resp.Body.Close()
			}
		}()
		g.waitStarted(t, 1)
		cancel()
		g.waitCancelled(t)
		<-done
	})
}

// forEachVersion serves over HTTP/1.1 and over HTTP/2.
func forEachVersion(t *testing.T, f func(t *testing.T, version string, c *http.Client, post func(context.Context, string) *http.Request, g *gate)) {
	t.Helper()
	for _, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(version, func(t *testing.T) {
			g := newGate()
			server, trusting := certificate(t)
			_, l := httpListener(t, Backend{Registry: newRegistry(t, g.operation(), progressing(3, 0))}, nil, func(e *Endpoint) {
				e.Scheme, e.TLS = "https", server
			})
			var protocols http.Protocols
			protocols.SetHTTP1(version == "HTTP/1.1")
			protocols.SetHTTP2(version == "HTTP/2.0")
			transport := &http.Transport{TLSClientConfig: trusting, Protocols: &protocols}
			t.Cleanup(transport.CloseIdleConnections)
			f(t, version, &http.Client{Transport: transport}, func(ctx context.Context, body string) *http.Request {
				req, err := http.NewRequestWithContext(ctx, "POST", "https://"+l.Addr().String()+"/rpc", strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Content-Type", "application/json")
				return req
			}, g)
		})
	}
}

func TestHTTPVersions(t *testing.T) {
	forEachVersion(t, func(t *testing.T, version string, c *http.Client, post func(context.Context, string) *http.Request, _ *gate) {
		resp, err := c.Do(post(t.Context(), callEcho))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		if err := sameReply(`{"jsonrpc":"2.0","result":null,"id":1}`, string(body)); err != nil || resp.Proto != version {
			t.Error(resp.Proto, err)
		}
	})
}

func TestServerSentEvents(t *testing.T) {
	forEachVersion(t, func(t *testing.T, _ string, c *http.Client, post func(context.Context, string) *http.Request, _ *gate) {
		work := `{"jsonrpc":"2.0","method":"work","id":1,"meta":{"progressToken":"t"}}`
		for name, test := range map[string]struct {
			body, accept string
			events       int
		}{
			"wanted":     {work, "application/json, text/event-stream", 4},
			"batch":      {"[" + work + "]", "text/event-stream", 4},
			"refused":    {work, "text/event-stream;q=0", 0},
			"refused so": {work, "text/event-stream; q=0.00", 0},
			"little":     {work, "text/event-stream;q=0.1", 4},
			"no token":   {`{"jsonrpc":"2.0","method":"work","id":1}`, "text/event-stream", 0},
			"no wish":    {work, "*/*", 0},
		} {
			req := post(t.Context(), test.body)
			req.Header.Set("Accept", test.accept)
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			events := readEvents(resp.Body)
			resp.Body.Close()
			if isStream := resp.Header.Get("Content-Type") == "text/event-stream"; isStream != (test.events > 0) || len(events) != test.events {
				t.Errorf("%s: %s, %q", name, resp.Header.Get("Content-Type"), events)
			}
			for i, event := range events {
				want := fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/progress","params":{"token":"t","value":{"progress":%d,"total":3}}}`, i+1)
				if i < 3 && event != want || i == 3 && !strings.Contains(event, `"result":null`) {
					t.Errorf("%s: event %d is %s", name, i, event)
				}
			}
		}
	})
}

// readEvents returns the data of each event.
func readEvents(r io.Reader) []string {
	var events []string
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			events = append(events, data)
		}
	}
	return events
}

// Progress arrives while the call runs, not with its reply.
func TestEventsAreLive(t *testing.T) {
	heard := make(chan struct{})
	op := registry.Operation{Name: "talk", Handler: func(ctx context.Context, c *registry.Call) (json.RawMessage, error) {
		c.Progress(registry.Progress{Progress: 1})
		select {
		case <-heard:
			return json.RawMessage("true"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	_, l := httpListener(t, Backend{Registry: newRegistry(t, op)}, nil, nil)
	req, _ := http.NewRequest("POST", "http://"+l.Addr().String()+"/rpc", strings.NewReader(`{"jsonrpc":"2.0","method":"talk","id":1,"meta":{"progressToken":1}}`))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	in := bufio.NewReader(resp.Body)
	if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, "$/progress") {
		t.Fatal(line, err)
	}
	close(heard)
	rest, err := io.ReadAll(in)
	if err != nil || !strings.Contains(string(rest), `"result":true`) {
		t.Errorf("%s %v", rest, err)
	}
}

// Half a body, then nothing: the connection ends within the message deadline.
func TestHTTPSlowBody(t *testing.T) {
	_, l := httpListener(t, Backend{}, &Options{MessageTimeout: 50 * time.Millisecond}, nil)
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	_ = conn.SetReadDeadline(time.Now().Add(hang))
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 408") || !strings.Contains(string(answer), "took too long") {
		t.Errorf("%q %v", answer, err)
	}
}

func TestHTTPHeaderLimit(t *testing.T) {
	_, l := httpListener(t, Backend{}, nil, nil)
	req, _ := http.NewRequest("POST", "http://"+l.Addr().String()+"/rpc", strings.NewReader(callEcho))
	req.Header.Set("X-Large", strings.Repeat("x", 100_000))
	resp, err := http.DefaultClient.Do(req)
	if err == nil {
		resp.Body.Close()
		if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Error(resp.Status)
		}
	}
}

func TestHTTPSRefusesOldTLS(t *testing.T) {
	server, trusting := certificate(t)
	_, l := httpListener(t, Backend{}, nil, func(e *Endpoint) { e.Scheme, e.TLS = "https", server })
	trusting.MaxVersion = tls.VersionTLS11
	trusting.MinVersion = tls.VersionTLS10
	if conn, err := tls.Dial("tcp", l.Addr().String(), trusting); err == nil {
		conn.Close()
		t.Error("TLS 1.1 was taken")
	}
}

func TestReadyWhileDraining(t *testing.T) {
	s := newServer(t, Backend{}, nil)
	h := s.HTTPHandler(&HTTPOptions{Anonymous: true})
	s.beginDrain()
	for path, want := range map[string]int{"/readyz": 503, "/healthz": 200} {
		w := httptest.NewRecorder()
		req, _ := http.NewRequest("GET", "http://localhost"+path, nil)
		if h.ServeHTTP(w, req); w.Code != want {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	w := httptest.NewRecorder()
	req, _ := http.NewRequest("POST", "http://localhost/rpc", strings.NewReader(callEcho))
	req.Header.Set("Content-Type", "application/json")
	h.ServeHTTP(w, req)
	if err := sameReply(refused(-32010, "1"), w.Body.String()); err != nil {
		t.Error(err)
	}
}

// The deadline of one answer doesn't end the next, on the same connection.
func TestHTTPConnectionLivesOn(t *testing.T) {
	_, l := httpListener(t, Backend{}, &Options{WriteTimeout: 20 * time.Millisecond}, nil)
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(hang))
	in := bufio.NewReader(conn)
	for _, body := range []string{callEcho, `{"jsonrpc":"2.0","method":"echo"}`, callEcho} {
		time.Sleep(50 * time.Millisecond) // past the deadline
		fmt.Fprintf(conn, "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

// A body in chunks is the last of its connection: a length beside it, by which a proxy may
// have gone, can't be seen any more.
func TestChunksCloseTheConnection(t *testing.T) {
	l := listen(t, newServer(t, Backend{}, nil), Endpoint{Scheme: "http", Address: "127.0.0.1:0", Anonymous: true})
	c := dial(t, l, false)
	c.raw("POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" +
		fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(callEcho), callEcho))
	_ = c.conn.SetReadDeadline(time.Now().Add(hang))
	answer, err := io.ReadAll(c.in)
	if err != nil || !strings.Contains(string(answer), "Connection: close") || !strings.Contains(string(answer), `"result":null`) {
		t.Errorf("%s %v", answer, err)
	}
}

// A client is told whether its token is missing or wrong.
func TestHTTPTokenReasons(t *testing.T) {
	_, l := httpListener(t, withCallers(t), nil, func(e *Endpoint) { e.Anonymous = false })
	for header, want := range map[string]string{
		"": "is due", "Bearer": "is due", "Bearer ": "is due", "Basic admin-token": "is due", "Bearer guess": "the token is no caller's",
	} {
		_, _, body := post(t, l, callEcho, "Authorization", header)
		if !strings.Contains(body, want) {
			t.Errorf("%q: %s", header, body)
		}
	}
}
