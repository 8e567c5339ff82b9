package mcptest

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// HTTPServer is a script that is served over Streamable HTTP.
type HTTPServer struct {
	// URL is the address of the server's endpoint.
	URL string
	// Elsewhere is a well-behaved server with the same script on another port, for redirects
	// to reach. It has none itself.
	Elsewhere *HTTPServer

	peer    *peer
	server  *httptest.Server
	closing context.Context

	mu       sync.Mutex
	sessions map[string]bool // guarded by mu
	given    int             // guarded by mu: session ids so far
}

// HTTP serves the script on a loopback address until the test ends.
func (s Script) HTTP(tb testing.TB) *HTTPServer {
	tb.Helper()
	return s.serve(tb, (*httptest.Server).Start)
}

// HTTPS does so over TLS. Client trusts its certificate.
func (s Script) HTTPS(tb testing.TB) *HTTPServer {
	tb.Helper()
	return s.serve(tb, (*httptest.Server).StartTLS)
}

func (s Script) serve(tb testing.TB, start func(*httptest.Server)) *HTTPServer {
	tb.Helper()
	if err := s.check(overHTTP); err != nil {
		tb.Fatal(err)
	}
	h := s.host(tb, start)
	s.Faults = nil
	h.Elsewhere = s.host(tb, (*httptest.Server).Start)
	return h
}

func (s Script) host(tb testing.TB, start func(*httptest.Server)) *HTTPServer {
	s.compact()
	closing, closed := context.WithCancel(context.Background())
	h := &HTTPServer{peer: newPeer(s, &recorder{}), closing: closing, sessions: map[string]bool{}}
	h.server = httptest.NewUnstartedServer(h)
	h.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	start(h.server)
	h.URL = h.server.URL + "/mcp"
	tb.Cleanup(func() {
		closed()
		h.server.CloseClientConnections()
		h.server.Close()
	})
	return h
}

// Client returns an HTTP client that trusts this server's certificate.
func (h *HTTPServer) Client() *http.Client { return h.server.Client() }

// Record returns what the server has seen so far.
func (h *HTTPServer) Record() Record { return h.peer.record.record() }

// ServeHTTP serves the endpoint.
func (h *HTTPServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(h.closing, cancel)()
	web := &httpWire{w: w, ctl: http.NewResponseController(w), server: h, session: r.Header.Get(sessionHeader)}
	switch r.Method {
	case http.MethodPost:
		h.post(ctx, web, r)
	case http.MethodGet:
		h.step(ctx, web, r, Stream, http.StatusMethodNotAllowed)
	case http.MethodDelete:
		h.forget(web.session)
		h.step(ctx, web, r, Close, http.StatusNoContent)
	default:
		http.Error(w, "use POST", http.StatusMethodNotAllowed)
	}
}

const sessionHeader = "Mcp-Session-Id"

func (h *HTTPServer) post(ctx context.Context, web *httpWire, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m, err := parse(raw)
	h.peer.record.received(m, r.Method+" "+r.URL.Path, r.Header.Clone())
	if err != nil {
		web.body("application/json", 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`)
		return
	}
	h.answer(ctx, web, m, r)
	if m.isRequest() && r.Context().Err() != nil {
		h.peer.record.add(Event{Kind: Abandoned, Method: m.Method, ID: m.ID})
	}
}

func (h *HTTPServer) answer(ctx context.Context, web *httpWire, m message, r *http.Request) {
	known := h.knows(web.session)
	t := h.peer.receive(ctx, web, m, known || h.peer.script.Stateless)
	if t == nil {
		web.w.WriteHeader(http.StatusAccepted)
		return
	}
	defer t.end()
	if text := mismatch(m, r.Header); text != "" && m.isRequest() {
		web.body("application/json", 400, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, m.ID, codeHeaderMismatch, text))
		return
	}
	if web.session != "" && !known {
		web.body("text/plain", 404, "no such session")
		return
	}
	if m.Method == "initialize" && !h.peer.script.Stateless {
		web.w.Header().Set(sessionHeader, h.open())
	}
	t.run()
	switch {
	case web.began:
	case m.isRequest(): // it was cancelled
		web.begin("text/event-stream", http.StatusOK)
	default:
		web.w.WriteHeader(http.StatusAccepted)
	}
}

// mismatch tells what is wrong with the headers of the 2026-07-28 revision.
func mismatch(m message, header http.Header) string {
	if header.Get("Mcp-Protocol-Version") < modernVersion {
		return ""
	}
	if header.Get("Mcp-Method") != m.Method {
		return "the header Mcp-Method is not the method"
	}
	switch Step(m.Method) {
	case CallTool, ReadResource, GetPrompt:
		if header.Get("Mcp-Name") != m.name() {
			return "the header Mcp-Name is not the name"
		}
	}
	return ""
}

// step serves a request that carries no message.
func (h *HTTPServer) step(ctx context.Context, web *httpWire, r *http.Request, step Step, otherwise int) {
	h.peer.record.add(Event{Kind: Received, HTTP: r.Method + " " + r.URL.Path, Header: r.Header.Clone()})
	t := h.peer.at(step, ctx, web)
	t.run()
	if !web.began {
		web.w.WriteHeader(otherwise)
	}
}

func (h *HTTPServer) open() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.given++
	id := fmt.Sprintf("session-%d", h.given)
	h.sessions[id] = true
	return id
}

func (h *HTTPServer) knows(session string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[session]
}

func (h *HTTPServer) forget(session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sessions, session)
}
