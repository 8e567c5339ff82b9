package jsonrpcserver

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// firmConn is what TLS runs on. Its peer must take each record within a time, whatever
// deadline is set above it, or the connection is closed: crypto/tls answers some messages
// while it reads, and closing would wait for that.
type firmConn struct {
	net.Conn
	limit  time.Duration
	opened time.Time    // by a clock that nobody sets
	due    atomic.Int64 // the deadline of whoever writes, in nanoseconds after that; 0 for none
}

func newFirmConn(conn net.Conn, limit time.Duration) *firmConn {
	return &firmConn{Conn: conn, limit: limit, opened: time.Now()}
}

// SetWriteDeadline bounds the writes to come.
func (c *firmConn) SetWriteDeadline(t time.Time) error {
	due := int64(0)
	if !t.IsZero() {
		due = int64(t.Sub(c.opened))
	}
	c.due.Store(due)
	return c.Conn.SetWriteDeadline(t) // for one that waits already
}

// SetDeadline sets both deadlines.
func (c *firmConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// Write writes a record. It is used by one goroutine at a time.
func (c *firmConn) Write(p []byte) (int, error) {
	last := time.Since(c.opened) + c.limit
	if due := time.Duration(c.due.Load()); due != 0 {
		last = min(last, due)
	}
	_ = c.Conn.SetWriteDeadline(c.opened.Add(last))
	n, err := c.Conn.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		_ = c.Conn.Close()
	}
	return n, err
}

// CloseWrite ends what this side sends.
func (c *firmConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// firmListener makes connections for TLS to run on.
type firmListener struct {
	net.Listener
	limit time.Duration
}

// Accept returns the next connection.
func (l firmListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newFirmConn(conn, l.limit), nil
}

// shakeHands completes a handshake within the time for greetings, unless the server stops.
func (s *Server) shakeHands(conn *tls.Conn) error {
	if !s.watch(conn.NetConn()) {
		return ErrClosed
	}
	defer s.unwatch(conn.NetConn())
	_ = conn.SetDeadline(time.Now().Add(s.opts.GreetTimeout))
	err := conn.Handshake()
	_ = conn.SetDeadline(time.Time{})
	return err
}
