package jsonrpcserver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
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
	sendJSON(w, status, appendError(nil, nil, err))
}

func sendJSON(w http.ResponseWriter, status int, body []byte) {
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

// exchange is one POST and its answer.
type exchange struct {
	web     *web
	w       http.ResponseWriter
	r       *http.Request
	backend *backend
	inv     effects.Invocation
	account *account
	held    int64 // bytes that the body may take
	events  *events
}

// body reads the body within its limits.
func (x *exchange) body() (data []byte, status int, err *registry.Error) {
	opts := &x.web.server.opts
	x.held = int64(opts.MaxMessage)
	if n := x.r.ContentLength; n >= 0 {
		x.held = min(n, x.held)
	}
	if x.r.ContentLength > int64(opts.MaxMessage) {
		return nil, http.StatusRequestEntityTooLarge, tooLong(opts.MaxMessage)
	}
	if x.account.bytes.Add(x.held) > int64(opts.MaxInFlightBytes) {
		return nil, http.StatusOK, overloaded("", "the requests in flight on this connection are too large together")
	}
	control := http.NewResponseController(x.w)
	_ = control.SetReadDeadline(time.Now().Add(opts.MessageTimeout))
	data, failed := readBounded(http.MaxBytesReader(x.w, x.r.Body, int64(opts.MaxMessage)), x.r.ContentLength)
	if failed == nil {
		_ = control.SetReadDeadline(time.Time{})
	}
	if _, large := errors.AsType[*http.MaxBytesError](failed); large {
		return nil, http.StatusRequestEntityTooLarge, tooLong(opts.MaxMessage)
	}
	if failed != nil {
		x.w.Header().Set("Connection", "close")
		return nil, http.StatusBadRequest, parseError(errors.New("the body ends early"))
	}
	return data, 0, nil
}

// readBounded reads all, into a buffer of the announced size where that is small.
func readBounded(body io.Reader, announced int64) ([]byte, error) {
	if announced < 0 || announced > 64<<10 {
		return io.ReadAll(body)
	}
	data := make([]byte, announced)
	n, err := io.ReadFull(body, data)
	return data[:n], err
}

func (x *exchange) free() {
	if x.held > 0 {
		x.account.bytes.Add(-x.held)
	}
}

// answer judges the body and runs what it asks for.
func (x *exchange) answer(data []byte) {
	s := x.web.server
	t, err := scanText(data, s.opts.MaxBatch)
	switch {
	case err != nil && err.Limit != nil && err.Limit.Name == "batch":
		x.web.fail(x.w, http.StatusRequestEntityTooLarge, err)
	case err != nil:
		x.web.fail(x.w, http.StatusOK, err)
	case t.batch:
		x.answerBatch(&t)
	default:
		x.answerOne(&t.one)
	}
}

func (x *exchange) answerOne(e *envelope) {
	switch {
	case e.isResponse():
		x.w.WriteHeader(http.StatusNoContent)
		return
	case e.fault != "":
		sendJSON(x.w, http.StatusOK, appendError(nil, e.id, invalidRequest(e.fault)))
		return
	}
	c := x.newCall(e)
	x.expectEvents(c.id != nil && c.token != nil)
	result, failure := x.run(c)
	switch {
	case c.id == nil:
		x.w.WriteHeader(http.StatusNoContent)
	case failure != nil:
		x.finish(appendError(nil, c.id, failure))
	default:
		size := len(replyStart) + len(c.id) + len(replyResult) + len(result) + len(replyEnd)
		x.finish(appendResult(make([]byte, 0, size), c.id, result))
	}
}

func (x *exchange) newCall(e *envelope) *call {
	c := newCall(e, x.backend)
	c.inv, c.peer = x.inv, x.r.RemoteAddr
	return &c
}

// run runs one call on the request's goroutine.
func (x *exchange) run(c *call) (json.RawMessage, *registry.Error) {
	s := x.web.server
	switch {
	case c.method == methodCancel:
		return json.RawMessage("null"), nil
	case c.method == methodAuthenticate:
		return nil, invalidRequest("over HTTP the token is a bearer header, not rpc.authenticate")
	case c.id == nil && strings.HasPrefix(c.method, "$/"):
		return nil, nil
	case !s.enter():
		return nil, shuttingDown(c.method, registry.NotSent)
	}
	defer s.live.Done()
	defer x.account.calls.Add(-1)
	if x.account.calls.Add(1) > int64(s.opts.MaxInFlight) || !s.admit() {
		if c.id == nil {
			s.stats.droppedNotifications.Add(1)
		}
		return nil, overloaded(c.method, "too many calls in flight")
	}
	defer s.release()
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	defer context.AfterFunc(s.halt, cancel)()
	return s.invoke(ctx, c, x.events.progress(c))
}

// answerBatch runs the messages of a batch at the same time.
func (x *exchange) answerBatch(t *text) {
	gathered := newBatch(len(t.many), x.web.server.opts.MaxBatchOutput, false)
	calls := make([]*call, len(t.many))
	wanted := false
	for i := range t.many {
		e := &t.many[i]
		switch {
		case e.isResponse():
		case e.fault != "":
			gathered.replies[i] = appendError(nil, e.id, invalidRequest(e.fault))
		default:
			calls[i] = x.newCall(e)
			wanted = wanted || calls[i].id != nil && calls[i].token != nil
		}
	}
	x.expectEvents(wanted)
	var all sync.WaitGroup
	for i, c := range calls {
		if c == nil {
			continue
		}
		all.Go(func() {
			if result, failure := x.run(c); c.id != nil {
				gathered.finish(i, c, result, failure)
			}
		})
	}
	all.Wait()
	parts, size := gathered.parts()
	if parts == nil {
		x.w.WriteHeader(http.StatusNoContent)
		return
	}
	body := make([]byte, 0, size)
	for _, part := range parts {
		body = append(body, part...)
	}
	x.finish(body)
}

// finish sends the reply, as JSON or as the last event.
func (x *exchange) finish(reply []byte) {
	control := http.NewResponseController(x.w)
	_ = control.SetWriteDeadline(time.Now().Add(x.web.server.opts.writeTime(len(reply))))
	if x.events != nil {
		x.events.last(reply)
		return
	}
	sendJSON(x.w, http.StatusOK, reply)
}

// writeTime is how long a reply of this size may take to be written.
func (o *Options) writeTime(size int) time.Duration {
	return o.WriteTimeout * time.Duration(1+size/writePiece)
}
