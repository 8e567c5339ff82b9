package jsonrpcserver

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// maxHTTPHeader bounds the header of a request, in bytes.
const maxHTTPHeader = 8 << 10

// HTTPOptions say who may use an HTTPHandler. The zero value lets callers with a token in,
// under the names of the loopback interface.
type HTTPOptions struct {
	// Path is where calls are posted; empty means "/rpc".
	Path string
	// Anonymous lets callers in without a token, as AnonymousCaller.
	Anonymous bool
	// Hosts and Origins are further Host and Origin header values to accept.
	Hosts   []string
	Origins []string
}

// HTTPHandler answers calls over HTTP: POST to the path, GET /healthz, and GET /readyz, which
// is 503 once the server shuts down (a listener of the server's own is closed by then).
// It bounds bodies, and sets deadlines for them where the connection has deadlines; the
// limits on headers and idle connections are the http.Server's own.
func (s *Server) HTTPHandler(opts *HTTPOptions) http.Handler {
	if opts == nil {
		opts = &HTTPOptions{}
	}
	w := &web{server: s, opts: *opts, json: []string{"application/json"}}
	if w.opts.Path == "" {
		w.opts.Path = "/rpc"
	}
	w.hosts = append([]string{"localhost", "127.0.0.1", "::1"}, lower(opts.Hosts)...)
	w.origins = lower(opts.Origins)
	return w
}

func lower(list []string) []string {
	list = slices.Clone(list)
	for i := range list {
		list[i] = strings.ToLower(list[i])
	}
	return list
}

// newWeb returns the HTTP server for a listener.
func (s *Server) newWeb(l *Listener) *http.Server {
	e := l.endpoint
	hosts := e.Hosts
	if host, _, err := net.SplitHostPort(e.Address); err == nil && host != "" {
		hosts = append([]string{host}, hosts...)
	}
	// The message deadline spans header and body. Where the two deadlines of net/http are
	// equal it sets them once.
	deadline := s.opts.MessageTimeout
	handler := s.HTTPHandler(&HTTPOptions{Path: e.Path, Anonymous: e.Anonymous, Hosts: hosts, Origins: e.Origins}).(*web)
	handler.own = true
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(l.tls != nil)
	web := &http.Server{
		Handler: handler, Protocols: &protocols, TLSConfig: l.tls,
		ReadHeaderTimeout: deadline, ReadTimeout: deadline, IdleTimeout: s.opts.IdleTimeout, MaxHeaderBytes: maxHTTPHeader,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: min(s.opts.MaxInFlight, 256), MaxReadFrameSize: 16 << 10,
			MaxReceiveBufferPerConnection: 64 << 10, MaxReceiveBufferPerStream: 64 << 10,
			WriteByteTimeout: s.opts.WriteTimeout, // or a peer that reads no frame would stay for ever
		},
		ErrorLog:    log.New(webLog{s}, "", 0),
		BaseContext: func(net.Listener) context.Context { return s.halt },
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, accountKey{}, &account{opened: time.Now()})
		},
	}
	if l.tls != nil {
		web.WriteTimeout = s.opts.WriteTimeout // of what package http itself answers over HTTP/2
	}
	return web
}

// account counts what is in flight on one HTTP connection, on which HTTP/2 lets requests overlap.
type account struct {
	calls, bytes atomic.Int64
	seated       atomic.Int64 // of its requests over HTTP/2, those that run no call
	opened       time.Time
	written      atomic.Int64 // when its write deadline was set last, in nanoseconds after that; 0 for never
}

type accountKey struct{}

// web is the handler.
type web struct {
	server  *Server
	opts    HTTPOptions
	hosts   []string
	origins []string
	json    []string     // the Content-Type of answers
	own     bool         // it serves a listener of the server's, with deadlines and a context that ends with it
	running atomic.Int64 // requests that have been read whole and aren't answered
}

// ServeHTTP judges host and origin, then path and method.
func (h *web) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := accountOf(r)
	if r.ProtoMajor == 1 {
		h.limitWrite(w, r, a, 0) // that of the last answer may have passed
	} else if !h.server.seat(a) {
		h.crowdedOut(w, a)
		return
	}
	if r.Method == http.MethodPost && r.URL.Path == h.opts.Path && h.knowsHost(r) && h.knowsOrigin(w, r) {
		h.post(w, r, a)
		return
	}
	h.other(w, r)
	if r.ProtoMajor != 1 {
		_ = http.NewResponseController(w).Flush()
		h.server.unseat(a)
	}
}

// other answers what is no call.
func (h *web) other(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/healthz" || r.URL.Path == "/readyz":
		h.health(w, r)
	case !h.knowsHost(r):
		http.Error(w, "unknown host: name it among the listener's hosts", http.StatusForbidden)
	case !h.knowsOrigin(w, r):
		http.Error(w, "unknown origin: name it among the listener's origins", http.StatusForbidden)
	case r.URL.Path != h.opts.Path:
		http.NotFound(w, r)
	case r.Method == http.MethodOptions:
		h.preflight(w, r)
	default:
		notAllowed(w, http.MethodPost)
	}
}

func notAllowed(w http.ResponseWriter, methods string) {
	w.Header().Set("Allow", methods)
	http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
}

// health answers the two questions of whoever watches the service: it lives, and it takes calls.
func (h *web) health(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		notAllowed(w, "GET, HEAD")
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	select {
	case <-h.server.drained:
		if r.URL.Path == "/readyz" {
			http.Error(w, "shutting down", http.StatusServiceUnavailable)
			return
		}
	default:
	}
	_, _ = io.WriteString(w, "ok\n")
}

// post answers one body.
func (h *web) post(w http.ResponseWriter, r *http.Request, a *account) {
	x := h.server.exchanges.Get().(*exchange)
	x.web, x.w, x.r, x.account, x.backend = h, w, r, a, h.server.acquire()
	defer x.end()
	if r.ProtoMajor != 1 && h.own {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // or it would end calls that take longer
	}
	if reason := x.authenticate(); reason != "" {
		x.refuseCaller(reason)
		return
	}
	if reason := checkContent(r.Header); reason != "" {
		x.refuse(http.StatusUnsupportedMediaType, invalidRequest(reason))
		return
	}
	data, status, err := x.body()
	if err != nil {
		x.refuse(status, err)
		return
	}
	h.running.Add(1)
	defer h.running.Add(-1)
	x.answer(data)
}

// authenticate learns on whose behalf the request is made, or returns why that isn't known.
func (x *exchange) authenticate() (reason string) {
	headers := x.r.Header["Authorization"]
	if len(headers) == 0 && x.web.opts.Anonymous {
		x.inv = invocationOf(x.backend.caller(AnonymousCaller), AnonymousCaller, "http")
		return ""
	}
	if len(headers) != 1 {
		return "a bearer token is due: send one header Authorization: Bearer TOKEN"
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	if token = strings.TrimLeft(token, " "); !strings.EqualFold(scheme, "bearer") || token == "" {
		return "a bearer token is due: write Authorization: Bearer TOKEN"
	}
	caller := x.backend.authenticate(token)
	if caller == nil {
		return "the token is no caller's"
	}
	x.inv = invocationOf(caller, caller.Name, "http")
	return ""
}

// limitWrite gives an answer of this size its time to be written. For small ones on one
// connection the deadline is moved once a second at most, and lies that much later, but
// over TLS, where package http sets one too.
func (h *web) limitWrite(w http.ResponseWriter, r *http.Request, a *account, size int) {
	limit := h.server.opts.WriteTimeout
	slack := min(time.Second, limit)
	if size < writePiece && r.TLS == nil {
		now, last := int64(time.Since(a.opened)), a.written.Load()
		if last != 0 && now-last < int64(slack) {
			return
		}
		a.written.Store(max(now, 1))
	}
	deadline := time.Now().Add(slack + limit*time.Duration(1+size/writePiece))
	_ = http.NewResponseController(w).SetWriteDeadline(deadline)
}

func accountOf(r *http.Request) *account {
	if a, ok := r.Context().Value(accountKey{}).(*account); ok {
		return a
	}
	return &account{opened: time.Now()}
}
