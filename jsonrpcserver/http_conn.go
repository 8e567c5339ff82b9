package jsonrpcserver

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// spare is how far off a deadline is set where none is due.
const spare = 10 * time.Second

// calmListener gives net/http connections whose read deadlines cost little.
type calmListener struct{ net.Listener }

// Accept returns the next connection.
func (l calmListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &calmConn{Conn: conn, opened: time.Now()}, nil
}

// calmConn sets timers less often than it is told to. net/http moves the read deadline six
// times for a request, nearly always to a later time. So the timer that is set stays, and
// the Read that it ends too early sets it anew.
type calmConn struct {
	net.Conn
	opened time.Time

	past atomic.Bool // the deadline is older than the connection: so net/http ends a Read

	mu    sync.Mutex // guards what follows
	due   time.Time  // the deadline; zero for none
	armed time.Time  // when the timer fires or fired, no later than due; zero for never
}

// SetReadDeadline bounds this Read and those to come.
func (c *calmConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = t
	if t.IsZero() || !c.armed.IsZero() && !t.Before(c.armed) {
		c.past.Store(false)
		return nil
	}
	c.past.Store(t.Before(c.opened))
	return c.arm(t)
}

func (c *calmConn) arm(t time.Time) error {
	c.armed = t
	return c.Conn.SetReadDeadline(t)
}

// SetDeadline sets both deadlines.
func (c *calmConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// Read reads what has come.
func (c *calmConn) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		if n > 0 || err == nil || c.past.Load() || !errors.Is(err, os.ErrDeadlineExceeded) || !c.again() {
			return n, err
		}
	}
}

// again reports whether the timer fired too early, and sets it anew.
func (c *calmConn) again() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	next := c.due
	if next.IsZero() {
		next = now.Add(spare)
	}
	if !next.After(now) {
		return false
	}
	_ = c.arm(next) // it fails where reading does
	return true
}
