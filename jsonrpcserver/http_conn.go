package jsonrpcserver

import (
	"errors"
	"net"
	"os"
	"sync"
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
	return newCalmConn(conn), nil
}

// calmConn does less than it is told to, since net/http tells a connection much for each
// request. It moves the read deadline six times, nearly always to a later one: so the timer
// that is set stays, and the Read that it ends too early sets it anew. And while a handler
// runs it reads one byte, to see whether the peer hangs up, and ends that by a deadline in
// the past: so that Read begins when the handler has run for a while, which few do.
type calmConn struct {
	net.Conn
	opened time.Time

	mu      sync.Mutex // guards what follows
	reading bool       // a Read is in the connection below
	due     time.Time  // the deadline; zero for none
	armed   time.Time  // when the timer fires or fired, no later than due; zero for never

	held    sync.Cond   // a Read of one byte waits for its time, or to be ended
	holds   int         // such Reads so far
	seen    int         // of those, at the last tick
	waits   bool        // one does
	watched bool        // ticks follow
	ticks   *time.Timer // call lookAfter
}

// holdTick is how long a Read of one byte waits, once or twice.
const holdTick = 20 * time.Millisecond

func newCalmConn(conn net.Conn) *calmConn {
	c := &calmConn{Conn: conn, opened: time.Now()}
	c.held.L = &c.mu
	return c
}

// SetReadDeadline bounds this Read and those to come.
func (c *calmConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = t
	if c.waits && c.past() {
		c.held.Signal()
	}
	if t.IsZero() || !c.armed.IsZero() && !t.Before(c.armed) || c.past() && !c.reading {
		return nil
	}
	return c.arm(t)
}

// past reports whether the deadline is older than the connection: so net/http ends a Read.
func (c *calmConn) past() bool { return !c.due.IsZero() && c.due.Before(c.opened) }

func (c *calmConn) arm(t time.Time) error {
	c.armed = t
	return c.Conn.SetReadDeadline(t)
}

// SetDeadline sets both deadlines.
func (c *calmConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// Read reads what has come. net/http never has two at once.
func (c *calmConn) Read(p []byte) (int, error) {
	if len(p) == 1 {
		c.hold()
	}
	for c.begin() {
		n, err := c.Conn.Read(p)
		early := c.end(err)
		if n > 0 || !early {
			return n, err
		}
	}
	return 0, os.ErrDeadlineExceeded
}

// hold waits until the Read has waited for a tick, or is to end.
func (c *calmConn) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holds++
	if !c.watched {
		c.watch()
	}
	for c.waits = true; c.waits && !c.past(); {
		c.held.Wait()
	}
	c.waits = false
}

// watch has lookAfter called after a tick. The mutex is held.
func (c *calmConn) watch() {
	c.watched, c.seen = true, c.holds
	if c.ticks == nil {
		c.ticks = time.AfterFunc(holdTick, c.lookAfter)
		return
	}
	c.ticks.Reset(holdTick)
}

// lookAfter lets the Read begin that waited at the last tick too, and ticks on while there
// are new ones.
func (c *calmConn) lookAfter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.seen != c.holds:
		c.watch()
		return
	case c.waits:
		c.waits = false
		c.held.Signal()
	}
	c.watched = false
}

// Close closes the connection.
func (c *calmConn) Close() error {
	c.mu.Lock()
	if c.ticks != nil {
		c.ticks.Stop()
	}
	c.waits = false
	c.held.Signal()
	c.mu.Unlock()
	return c.Conn.Close()
}

// begin reports whether there is time to read. A timer that fired too early is set anew.
func (c *calmConn) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.past() {
		return false
	}
	c.reading = true
	if !c.armed.IsZero() && c.armed.Before(c.opened) {
		c.rearm(time.Now()) // or the Read would end at once
	}
	return true
}

// end says that no Read waits, and reports whether a timer ended it that wasn't due.
func (c *calmConn) end(err error) (early bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reading = false
	if err == nil || c.past() || !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	now := time.Now()
	if !c.due.IsZero() && !c.due.After(now) {
		return false
	}
	c.rearm(now)
	return true
}

// rearm sets the timer to the deadline, or far off where there is none.
func (c *calmConn) rearm(now time.Time) {
	next := c.due
	if next.IsZero() {
		next = now.Add(spare)
	}
	_ = c.arm(next) // it fails where reading does
}
