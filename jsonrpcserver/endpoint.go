package jsonrpcserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Endpoint is one place to serve at.
type Endpoint struct {
	// Scheme is "unix", "tcp", "http" or "https".
	Scheme string
	// Address is HOST:PORT, or the path of a unix socket.
	Address string
	// Path is the URL's path for http and https; empty means "/rpc".
	Path string
	// Certificate and Key are PEM files, due for https and possible for tcp, and read once.
	// TLS replaces both; its GetCertificate may change what it returns.
	Certificate string
	Key         string
	TLS         *tls.Config
	// Anonymous lets callers in without a token, as AnonymousCaller.
	Anonymous bool
	// BehindProxy says that a proxy in front does TLS.
	BehindProxy bool
	// Hosts and Origins are further Host and Origin header values to accept, such as
	// "api.example.org" and "https://app.example.org".
	Hosts   []string
	Origins []string
}

// Listener is an open endpoint.
type Listener struct {
	endpoint Endpoint
	listener net.Listener
	tls      *tls.Config
	once     sync.Once
	remove   func() // removes the socket file
}

// Addr returns the address that it listens on, with the port that was chosen where the
// endpoint's was 0.
func (l *Listener) Addr() net.Addr { return l.listener.Addr() }

// Close stops listening and removes the socket file. Serve does that itself.
func (l *Listener) Close() error {
	// The file goes first: while the socket answers, nobody else can take its place.
	l.once.Do(func() {
		if l.remove != nil {
			l.remove()
		}
	})
	return l.listener.Close()
}

// Listen opens an endpoint. It refuses one that anybody could use, and one that would
// send tokens in the clear over a network.
func (s *Server) Listen(ctx context.Context, e Endpoint) (*Listener, error) {
	if e.Path == "" {
		e.Path = "/rpc"
	}
	l, err := s.open(ctx, e)
	if err != nil {
		return nil, fmt.Errorf("listen on %s %s: %w", e.Scheme, e.Address, err)
	}
	return l, nil
}

func (s *Server) open(ctx context.Context, e Endpoint) (*Listener, error) {
	if e.Scheme == "unix" {
		listener, remove, err := listenUnix(ctx, e.Address)
		if err != nil {
			return nil, err
		}
		return &Listener{endpoint: e, listener: listener, remove: remove}, nil
	}
	config, err := e.tlsConfig()
	if err != nil {
		return nil, err
	}
	if !e.Anonymous && !s.current.Load().hasTokens() {
		return nil, errors.New("no caller has a token: give one a token, or allow anonymous callers")
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", e.Address)
	if err != nil {
		return nil, err
	}
	if !isLoopback(listener.Addr()) && config == nil && !e.BehindProxy {
		_ = listener.Close()
		return nil, errors.New("off loopback it needs a certificate, or a proxy in front that does TLS")
	}
	return &Listener{endpoint: e, listener: listener, tls: config}, nil
}

// Adopt returns a listener on one that is open already, such as a socket that a service
// manager handed over. Of the endpoint it heeds the scheme and what says who may call; its
// address and the conditions that Listen checks are the opener's affair.
func (s *Server) Adopt(l net.Listener, e Endpoint) (*Listener, error) {
	if e.Path == "" {
		e.Path = "/rpc"
	}
	adopted := &Listener{endpoint: e, listener: l}
	if e.Scheme == "unix" {
		return adopted, nil
	}
	var err error
	adopted.tls, err = e.tlsConfig()
	return adopted, err
}

// tlsConfig returns the configuration for https and for tcp with a certificate, or nil.
func (e *Endpoint) tlsConfig() (*tls.Config, error) {
	switch {
	case e.Scheme == "http" || e.Scheme == "tcp" && e.Certificate == "" && e.TLS == nil:
		return nil, nil
	case e.Scheme != "https" && e.Scheme != "tcp":
		return nil, fmt.Errorf("unknown scheme %q: write unix, tcp, http or https", e.Scheme)
	}
	config := &tls.Config{}
	if e.TLS != nil {
		config = e.TLS.Clone()
	} else {
		pair, err := tls.LoadX509KeyPair(e.Certificate, e.Key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	config.MinVersion = max(config.MinVersion, tls.VersionTLS12)
	return config, nil
}

func isLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// Serve serves the listeners until ctx ends or Shutdown is called, and returns when
// everything that they brought has ended. It closes the listeners.
func (s *Server) Serve(ctx context.Context, listeners ...*Listener) error {
	errs, stopped := make(chan error, len(listeners)), make(chan error, 1)
	goesOn := context.AfterFunc(ctx, func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Grace)
		defer cancel()
		stopped <- s.Shutdown(stop)
	})
	for _, l := range listeners {
		go func() { errs <- s.serveListener(ctx, l) }()
	}
	var failures []error
	for range listeners {
		failures = append(failures, <-errs)
	}
	if !goesOn() {
		failures = append(failures, <-stopped)
	}
	return errors.Join(failures...)
}

// serveListener accepts until the listener is closed.
func (s *Server) serveListener(ctx context.Context, l *Listener) error {
	defer l.Close()
	if !s.watch(l) {
		if ctx.Err() != nil {
			return nil
		}
		return ErrClosed
	}
	defer s.unwatch(l)
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	s.opts.Logger.Info("listening", "scheme", l.endpoint.Scheme, "address", l.Addr().String())
	serve := s.serveStreams
	if l.endpoint.Scheme == "http" || l.endpoint.Scheme == "https" {
		serve = s.serveHTTP
	}
	err := serve(ctx, l)
	if err != nil {
		s.opts.Logger.Error("listening ended", "scheme", l.endpoint.Scheme, "address", l.Addr().String(), "error", err.Error())
	}
	return err
}

func (s *Server) serveStreams(ctx context.Context, l *Listener) error {
	surplus := &bounded{Listener: l.listener, server: s, open: &s.conns, parting: parting{l.tls, false}}
	if l.endpoint.Scheme == "unix" { // its owner is not kept out by a crowd from elsewhere
		surplus.open = &s.local
	}
	var all sync.WaitGroup
	defer all.Wait()
	for {
		conn, err := surplus.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept on %s %s: %w", l.endpoint.Scheme, l.endpoint.Address, err)
		}
		who, peer := l.endpoint.welcome(conn)
		if l.tls != nil {
			conn = tls.Server(newFirmConn(conn, s.opts.WriteTimeout), l.tls)
		}
		timing := timedFully
		if l.endpoint.Scheme == "unix" {
			timing = timedMessages
		}
		all.Go(func() { s.serveCounted(ctx, conn, who, peer, timing) })
	}
}

// welcome says who a new connection speaks for, and describes its peer.
func (e *Endpoint) welcome(conn net.Conn) (who identity, peer string) {
	if b, ok := conn.(*boundedConn); ok {
		conn = b.Conn
	}
	if e.Scheme == "unix" {
		return identity{name: LocalCaller, origin: "unix"}, unixPeer(conn)
	}
	who.origin = "tcp"
	if e.Anonymous {
		who.name = AnonymousCaller
	}
	return who, conn.RemoteAddr().String()
}

// serveCounted serves a connection that its listener has counted already.
func (s *Server) serveCounted(ctx context.Context, conn net.Conn, who identity, peer string, timing timing) {
	if !s.enter() {
		_ = conn.Close()
		return
	}
	defer s.live.Done()
	if secure, ok := conn.(*tls.Conn); ok && s.shakeHands(secure) != nil {
		_ = conn.Close()
		return
	}
	st := s.newStream(ctx, conn, who, peer, timing)
	s.serveStream(ctx, st, st.run)
}

// serveHTTP runs an HTTP server on a listener until it is closed.
func (s *Server) serveHTTP(_ context.Context, l *Listener) error {
	web := s.newWeb(l)
	s.mu.Lock()
	s.webs[web] = struct{}{}
	s.mu.Unlock()
	surplus := &bounded{Listener: l.listener, server: s, open: &s.conns, parting: parting{l.tls, true}}
	var err error
	if l.tls != nil {
		err = web.ServeTLS(firmListener{calmListener{surplus}, s.opts.WriteTimeout}, "", "")
	} else {
		err = web.Serve(calmListener{surplus})
	}
	s.endWeb(web)
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// endWeb waits for the requests that run, as long as the server's shutdown lets them. Who
// has begun a request, or none, has a moment to send all of it.
func (s *Server) endWeb(server *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.Grace+2*closeDelay)
	defer cancel()
	go cancelWhenQuiet(ctx, cancel, &server.Handler.(*web).running)
	if server.Shutdown(ctx) != nil {
		_ = server.Close()
	}
	s.mu.Lock()
	delete(s.webs, server)
	s.mu.Unlock()
}

// cancelWhenQuiet cancels once nothing has run for closeDelay, or when ctx ends.
func cancelWhenQuiet(ctx context.Context, cancel context.CancelFunc, running *atomic.Int64) {
	const looks = 20
	tick := time.NewTicker(closeDelay / looks)
	defer tick.Stop()
	for quiet := 0; quiet < looks; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		quiet++
		if running.Load() > 0 {
			quiet = 0
		}
	}
	cancel()
}
