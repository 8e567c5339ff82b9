package jsonrpcserver

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
)

// Bounds of HTTP beside those of Options.
const (
	maxHTTPHeader     = 16 << 10
	httpHeaderTimeout = 10 * time.Second
)

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

// HTTPHandler answers calls over HTTP: POST to the path, GET /healthz and GET /readyz.
// It bounds bodies, and sets deadlines for them where the connection has deadlines; the
// limits on headers and idle connections are the http.Server's own.
func (s *Server) HTTPHandler(opts *HTTPOptions) http.Handler {
	if opts == nil {
		opts = &HTTPOptions{}
	}
	w := &web{server: s, opts: *opts}
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
	handler := s.HTTPHandler(&HTTPOptions{Path: e.Path, Anonymous: e.Anonymous, Hosts: hosts, Origins: e.Origins}).(*web)
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(l.tls != nil)
	return &http.Server{
		Handler: handler, Protocols: &protocols, TLSConfig: l.tls,
		ReadHeaderTimeout: httpHeaderTimeout, IdleTimeout: s.opts.IdleTimeout, MaxHeaderBytes: maxHTTPHeader,
		HTTP2:    &http.HTTP2Config{MaxConcurrentStreams: min(s.opts.MaxInFlight, 256)},
		ErrorLog: newErrorLog(s.opts.Logger),
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, accountKey{}, &account{})
		},
	}
}

// account counts what is in flight on one HTTP connection, on which HTTP/2 lets requests overlap.
type account struct{ calls, bytes atomic.Int64 }

type accountKey struct{}

// web is the handler.
type web struct {
	server  *Server
	opts    HTTPOptions
	hosts   []string
	origins []string
}

// ServeHTTP judges host and origin, then path and method.
func (h *web) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// On a connection that lives on, the deadline of the last answer is still set.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	switch r.URL.Path {
	case "/healthz", "/readyz":
		h.health(w, r)
		return
	}
	if !h.knowsHost(r) {
		http.Error(w, "unknown host: name it among the listener's hosts", http.StatusForbidden)
		return
	}
	if !h.knowsOrigin(w, r) {
		http.Error(w, "unknown origin: name it among the listener's origins", http.StatusForbidden)
		return
	}
	if r.URL.Path != h.opts.Path {
		http.NotFound(w, r)
		return
	}
	switch r.Method {
	case http.MethodPost:
		h.post(w, r)
	case http.MethodOptions:
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
func (h *web) post(w http.ResponseWriter, r *http.Request) {
	b := h.server.acquire()
	defer b.leave()
	inv, ok := h.authenticate(r, b)
	if !ok {
		h.server.opts.Logger.Warn("authentication failed", "origin", "http", "peer", r.RemoteAddr)
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+h.opts.Path+`"`)
		h.fail(w, http.StatusUnauthorized, unauthenticated("a bearer token is due"))
		return
	}
	if reason := checkContent(r.Header); reason != "" {
		h.fail(w, http.StatusUnsupportedMediaType, invalidRequest(reason))
		return
	}
	x := &exchange{web: h, w: w, r: r, backend: b, inv: inv, account: accountOf(r)}
	data, status, err := x.body()
	defer x.free()
	if err != nil {
		h.fail(w, status, err)
		return
	}
	x.answer(data)
}

// authenticate returns on whose behalf the request is made.
func (h *web) authenticate(r *http.Request, b *backend) (effects.Invocation, bool) {
	headers := r.Header.Values("Authorization")
	if len(headers) == 0 && h.opts.Anonymous {
		return invocationOf(b.caller(AnonymousCaller), AnonymousCaller, "http"), true
	}
	if len(headers) != 1 {
		return effects.Invocation{}, false
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	caller := b.authenticate(strings.TrimLeft(token, " "))
	if caller == nil || !strings.EqualFold(scheme, "bearer") {
		return effects.Invocation{}, false
	}
	return invocationOf(caller, caller.Name, "http"), true
}

// fail answers a request that isn't judged as JSON-RPC.
func (h *web) fail(w http.ResponseWriter, status int, err *registry.Error) {
	h.send(w, status, appendError(nil, nil, err))
}

// send answers with JSON, within the time that this much of it may take.
func (h *web) send(w http.ResponseWriter, status int, body []byte) {
	h.server.opts.limitWrite(w, len(body))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func accountOf(r *http.Request) *account {
	if a, ok := r.Context().Value(accountKey{}).(*account); ok {
		return a
	}
	return &account{}
}
