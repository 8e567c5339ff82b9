package jsonrpcserver

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// bounded is a listener that turns surplus connections away and outlives a shortage of descriptors.
type bounded struct {
	net.Listener
	server  *Server
	open    *atomic.Int64 // connections
	parting parting
}

// Accept returns the next connection that is not surplus.
func (b *bounded) Accept() (net.Conn, error) {
	for pause := 5 * time.Millisecond; ; {
		conn, err := b.Listener.Accept()
		if temporary, ok := errors.AsType[interface {
			error
			Temporary() bool
		}](err); ok && temporary.Temporary() {
			b.server.opts.Logger.Warn("accept failed, trying again", "error", err.Error())
			select {
			case <-time.After(pause):
			case <-b.server.drained:
			}
			pause = min(2*pause, time.Second)
			continue
		}
		if err != nil {
			return nil, err
		}
		if b.open.Add(1) <= int64(b.server.opts.MaxConnections) {
			return &boundedConn{Conn: conn, open: b.open}, nil
		}
		b.open.Add(-1)
		b.server.turnAway(conn, b.parting)
	}
}

// boundedConn counts itself out when it is closed.
type boundedConn struct {
	net.Conn
	open *atomic.Int64
	once sync.Once
}

// Close closes the connection.
func (c *boundedConn) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}

// CloseWrite ends what this side sends.
func (c *boundedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// maxFarewells bounds the surplus connections that are told so at a time.
const maxFarewells = 16

// parting is how surplus connections are told why they are closed.
type parting struct {
	tls *tls.Config // nil for none
	web bool
}

// words are what a surplus connection is told.
func (p parting) words() []byte {
	words := append(appendError(nil, nil, overloaded("", "too many connections")), '\n')
	if !p.web {
		return words
	}
	head := "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
	return append(fmt.Appendf(nil, head, len(words)), words...)
}

// turnAway closes a surplus connection, and tells it why. Where many are, it doesn't wait
// for what they send, and leaves handshakes.
func (s *Server) turnAway(conn net.Conn, how parting) {
	s.stats.refusedConnections.Add(1)
	_ = conn.SetDeadline(time.Now().Add(lingerTime))
	select {
	case s.farewells <- struct{}{}:
	default:
		if how.tls == nil {
			_, _ = conn.Write(how.words())
		}
		_ = conn.Close()
		return
	}
	if !s.watch(conn) {
		<-s.farewells
		_ = conn.Close()
		return
	}
	go func() {
		takeLeave(conn, how)
		<-s.farewells
		s.unwatch(conn)
	}()
}

// takeLeave tells a peer why its connection is closed, within the connection's deadline.
func takeLeave(conn net.Conn, how parting) {
	defer conn.Close()
	if how.tls != nil {
		config := how.tls.Clone()
		if how.web {
			config.NextProtos = []string{"http/1.1"} // the words are
		}
		conn = tls.Server(newFirmConn(conn, lingerTime), config)
	}
	if how.web { // some clients take no answer before they have asked
		if _, err := conn.Read(make([]byte, 512)); err != nil {
			return
		}
	}
	if _, err := conn.Write(how.words()); err == nil {
		linger(conn)
	}
}
