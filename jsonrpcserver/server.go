package jsonrpcserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Server answers JSON-RPC 2.0 on any number of connections. Make it with New; it is safe
// for concurrent use.
type Server struct {
	opts    Options
	current atomic.Pointer[backend]
	buffers sync.Pool // of *[]byte, for outboxes

	exchanges  sync.Pool // of *exchange
	stats      counters
	calls      atomic.Int64 // in flight
	conns      atomic.Int64 // open ones that came over a network, or from a service that embeds this
	local      atomic.Int64 // open ones on unix sockets and standard input
	failures   throttle     // to authenticate
	complaints throttle     // of package http
	handoff    chan *flight // to a worker that waits
	idle       atomic.Int64 // workers that may wait

	middle, large *budget      // for messages that are being read
	unread        atomic.Int64 // bytes of replies that answer no call and that peers haven't taken
	seated        atomic.Int64 // requests over HTTP/2 that run no call, but for the first of each connection

	live sync.WaitGroup // streams, HTTP requests, listeners, and calls

	mu       sync.Mutex // guards what follows
	draining bool
	streams  map[*stream]struct{}
	closers  map[io.Closer]struct{} // listeners, and connections that greet over TLS or take their leave
	webs     map[*http.Server]struct{}

	farewells  chan struct{} // a place for each surplus connection that is being told so
	drained    chan struct{} // closed when draining begins
	halt       context.Context
	haltCalls  context.CancelFunc // ends every call that still runs
	shutdownMu sync.Mutex         // one Shutdown at a time
}

// New returns a server for a backend that passes its Check.
func New(b Backend, opts *Options) (*Server, error) {
	if err := b.Check(); err != nil {
		return nil, err
	}
	s := &Server{
		opts: opts.withDefaults(), streams: map[*stream]struct{}{}, closers: map[io.Closer]struct{}{},
		webs: map[*http.Server]struct{}{}, drained: make(chan struct{}), handoff: make(chan *flight),
		farewells: make(chan struct{}, maxFarewells),
	}
	s.middle, s.large = newBudgets(s.opts.MaxMessage)
	s.buffers.New = func() any { return new([]byte) }
	s.exchanges.New = func() any { return new(exchange) }
	s.halt, s.haltCalls = context.WithCancel(context.Background())
	s.current.Store(newBackend(b))
	return s, nil
}

// Stats are counts since the server was made, and how much is going on now.
type Stats struct {
	Connections          int64 // open now
	Calls                int64 // in flight now, unwritten replies included
	RefusedConnections   int64
	DroppedNotifications int64
	DroppedProgress      int64
}

type counters struct {
	refusedConnections, droppedNotifications, droppedProgress atomic.Int64
}

// Stats returns the counts.
func (s *Server) Stats() Stats {
	return Stats{
		Connections: s.conns.Load() + s.local.Load(), Calls: s.calls.Load(),
		RefusedConnections:   s.stats.refusedConnections.Load(),
		DroppedNotifications: s.stats.droppedNotifications.Load(),
		DroppedProgress:      s.stats.droppedProgress.Load(),
	}
}

// admit counts one more call in flight, unless there are too many.
func (s *Server) admit() bool {
	if s.calls.Add(1) > int64(s.opts.MaxCalls) {
		s.calls.Add(-1)
		return false
	}
	s.live.Add(1) // whoever asks is live itself, so this can't meet a Wait at zero
	return true
}

// release ends an admitted call whose reply nobody waits to write.
func (s *Server) release() {
	s.calls.Add(-1)
	s.live.Done()
}

// enter counts something that Shutdown waits for, unless that has begun.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return false
	}
	s.live.Add(1)
	return true
}

// watch is enter for what is closed when the server begins to shut down.
func (s *Server) watch(c io.Closer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return false
	}
	s.live.Add(1)
	s.closers[c] = struct{}{}
	return true
}

func (s *Server) unwatch(c io.Closer) {
	s.mu.Lock()
	delete(s.closers, c)
	s.mu.Unlock()
	s.live.Done()
}

// isDraining reports whether the server has begun to shut down.
func (s *Server) isDraining() bool {
	select {
	case <-s.drained:
		return true
	default:
		return false
	}
}

// stopping reports whether calls are being cancelled because the server stops.
func (s *Server) stopping() bool { return s.halt.Err() != nil }

// ConnOptions describe a connection that is given to ServeConn. The zero value is an
// unknown peer that must authenticate before anything else.
type ConnOptions struct {
	// Origin is the way that calls come in, as it stands in events; empty means "stream".
	Origin string
	// Caller is who speaks until it authenticates: LocalCaller, AnonymousCaller, or "" for nobody.
	Caller string
	// Peer describes the other side in events.
	Peer string
	// Timed applies the idle and message deadlines, as a peer beyond the machine deserves.
	Timed bool
}

// ErrClosed is returned where a server is asked to serve after Shutdown.
var ErrClosed = errors.New("the server is shut down")

// ServeConn serves one connection until its peer has sent everything and was answered.
// When ctx ends, what runs may finish within the grace and is cancelled then.
func (s *Server) ServeConn(ctx context.Context, conn net.Conn, opts *ConnOptions) error {
	if opts == nil {
		opts = &ConnOptions{}
	}
	if !s.enter() {
		_ = conn.Close()
		return ErrClosed
	}
	defer s.live.Done()
	if s.conns.Add(1) > int64(s.opts.MaxConnections) {
		s.conns.Add(-1)
		s.stats.refusedConnections.Add(1)
		_ = conn.SetDeadline(time.Now().Add(lingerTime))
		takeLeave(conn, parting{})
		return fmt.Errorf("more than %d connections", s.opts.MaxConnections)
	}
	defer s.conns.Add(-1)
	who := identity{name: opts.Caller, origin: opts.Origin}
	if who.origin == "" {
		who.origin = "stream"
	}
	timing := untimed
	if opts.Timed {
		timing = timedFully
	}
	st := s.newStream(ctx, conn, who, opts.Peer, timing)
	s.serveStream(ctx, st, st.run)
	return nil
}

// serveStream runs a stream and tends to it when ctx or the server ends.
func (s *Server) serveStream(ctx context.Context, st *stream, run func()) {
	s.mu.Lock()
	s.streams[st] = struct{}{}
	draining := s.draining
	s.mu.Unlock()
	if draining {
		st.stop()
	}
	unwatch := context.AfterFunc(ctx, func() { s.endStream(st) })
	run()
	unwatch()
	s.mu.Lock()
	delete(s.streams, st)
	s.mu.Unlock()
}

// endStream lets a stream finish within the grace, which a Shutdown meanwhile doesn't
// lengthen. Calls that outlast it are told if the whole server stops.
func (s *Server) endStream(st *stream) {
	st.stop()
	grace := time.NewTimer(s.opts.Grace)
	defer grace.Stop()
	select {
	case <-st.closed:
		return
	case <-s.halt.Done():
		return
	case <-grace.C:
	}
	st.halting.Store(s.isDraining())
	st.cancel(func(*flight) bool { return true })
	grace.Reset(closeDelay)
	select {
	case <-st.closed:
	case <-grace.C:
		st.abort()
	}
}

// Shutdown stops accepting, lets what runs finish within the grace or until ctx ends,
// cancels the rest, and returns when nothing is left. The error tells of calls whose
// handlers don't heed their contexts.
func (s *Server) Shutdown(ctx context.Context) error {
	s.beginDrain()
	s.shutdownMu.Lock()
	defer s.shutdownMu.Unlock()
	over := make(chan struct{})
	go func() {
		s.live.Wait()
		close(over)
	}()
	grace := time.NewTimer(s.opts.Grace)
	defer grace.Stop()
	select {
	case <-over:
		s.haltCalls()
		return nil
	case <-grace.C:
	case <-ctx.Done():
	}
	return s.endNow(over)
}

// beginDrain stops accepting and tells every connection.
func (s *Server) beginDrain() {
	s.mu.Lock()
	if !s.draining {
		s.draining = true
		close(s.drained)
	}
	closers, streams, webs := keys(s.closers), keys(s.streams), keys(s.webs)
	s.mu.Unlock()
	for _, c := range closers {
		_ = c.Close()
	}
	for _, st := range streams {
		st.stop()
	}
	for _, web := range webs {
		web.SetKeepAlivesEnabled(false)
	}
}

// endNow cancels what runs, gives it a moment to be answered, and closes everything.
func (s *Server) endNow(over chan struct{}) error {
	s.haltCalls()
	s.mu.Lock()
	streams, webs := keys(s.streams), keys(s.webs)
	s.mu.Unlock()
	for _, st := range streams {
		st.cancel(func(*flight) bool { return true })
	}
	wait := time.NewTimer(closeDelay)
	defer wait.Stop()
	select {
	case <-over:
		return nil
	case <-wait.C:
	}
	for _, st := range streams {
		st.abort()
	}
	for _, web := range webs {
		_ = web.Close()
	}
	wait.Reset(closeDelay)
	select {
	case <-over:
		return nil
	case <-wait.C:
		return fmt.Errorf("%d calls still run: their handlers don't heed their contexts", s.calls.Load())
	}
}

func keys[K comparable](m map[K]struct{}) []K {
	list := make([]K, 0, len(m))
	for k := range m {
		list = append(list, k)
	}
	return list
}
