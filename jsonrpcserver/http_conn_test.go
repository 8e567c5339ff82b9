package jsonrpcserver

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// countedConn counts how often a timer is set.
type countedConn struct {
	net.Conn
	set int
}

func (c *countedConn) SetReadDeadline(t time.Time) error {
	c.set++
	return c.Conn.SetReadDeadline(t)
}

func calmPair(t *testing.T) (calm *calmConn, under *countedConn, peer net.Conn) {
	t.Helper()
	mine, peer := net.Pipe()
	t.Cleanup(func() { _ = mine.Close(); _ = peer.Close() })
	under = &countedConn{Conn: mine}
	c := newCalmConn(under)
	return c, under, peer
}

// A deadline is kept to the moment, whatever was set before it.
func TestCalmDeadlines(t *testing.T) {
	for _, test := range []struct {
		name string
		set  []time.Duration // from now; zero for none
		want time.Duration   // zero for never
	}{
		{"one", []time.Duration{time.Second}, time.Second},
		{"later", []time.Duration{time.Second, time.Minute}, time.Minute},
		{"earlier", []time.Duration{time.Minute, time.Second}, time.Second},
		{"none", []time.Duration{0}, 0},
		{"taken back", []time.Duration{time.Second, 0}, 0},
		{"past", []time.Duration{-time.Hour}, -1},
		{"past, behind a later one", []time.Duration{time.Minute, -time.Hour}, -1},
		{"past, taken back", []time.Duration{-time.Hour, 0}, 0},
		{"past, then one", []time.Duration{-time.Hour, time.Second}, time.Second},
		{"as net/http does", []time.Duration{-time.Hour, 0, 5 * time.Minute, 0, 30 * time.Second}, 30 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _, peer := calmPair(t)
				began := time.Now()
				for _, d := range test.set {
					at := began.Add(d)
					if d == 0 {
						at = time.Time{}
					}
					if err := c.SetReadDeadline(at); err != nil {
						t.Fatal(err)
					}
				}
				if test.want == 0 {
					time.AfterFunc(time.Hour, func() { _ = peer.Close() })
				}
				_, err := c.Read(make([]byte, 1))
				took := time.Since(began)
				switch {
				case test.want == 0 && (!errors.Is(err, io.EOF) || took != time.Hour):
					t.Errorf("%v after %v; want the end of input", err, took)
				case test.want != 0 && (!errors.Is(err, os.ErrDeadlineExceeded) || took != max(test.want, 0)):
					t.Errorf("%v after %v; want the deadline after %v", err, took, test.want)
				}
			})
		})
	}
}

// A Read that waits already is ended by a deadline in the past, as net/http ends its own.
func TestCalmReadIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, peer := calmPair(t)
		_ = c.SetReadDeadline(time.Time{})
		ended := make(chan error)
		go func() {
			_, err := c.Read(make([]byte, 1))
			ended <- err
		}()
		time.Sleep(time.Minute)
		_ = c.SetDeadline(time.Unix(1, 0))
		if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
		_ = c.SetDeadline(time.Time{})
		go func() { _, _ = peer.Write([]byte("x")) }()
		if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Error(n, err)
		}
	})
}

// What net/http does for each request sets two timers, and the second only to take back the first.
func TestCalmSetsFewTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, under, _ := calmPair(t)
		const requests = 1000
		for range requests {
			now := time.Now()
			for _, at := range []time.Time{now.Add(5 * time.Minute), {}, now.Add(30 * time.Second), {}, time.Unix(1, 0), {}} {
				_ = c.SetReadDeadline(at)
			}
			time.Sleep(time.Millisecond)
		}
		if under.set > 2*requests+10 {
			t.Errorf("%d timers set", under.set)
		}
	})
}

// readConn counts what is read.
type readConn struct {
	net.Conn
	reads atomic.Int64
}

func (c *readConn) Read(p []byte) (int, error) {
	c.reads.Add(1)
	return c.Conn.Read(p)
}

// A Read of one byte, by which net/http learns that a peer hangs up, doesn't begin where it
// is ended soon, begins where it isn't, and ends with the connection.
func TestCalmHoldsReadsOfOneByte(t *testing.T) {
	for _, test := range []struct {
		name  string
		after time.Duration
		end   func(*calmConn)
		reads int64
	}{
		{"ended soon", holdTick / 2, func(c *calmConn) { _ = c.SetReadDeadline(time.Unix(1, 0)) }, 0},
		{"ended at once", 0, func(c *calmConn) { _ = c.SetReadDeadline(time.Unix(1, 0)) }, 0},
		{"closed soon", holdTick / 2, func(c *calmConn) { _ = c.Close() }, 1},
		{"ended late", 3 * holdTick, func(c *calmConn) { _ = c.SetReadDeadline(time.Unix(1, 0)) }, 1},
		{"closed late", 3 * holdTick, func(c *calmConn) { _ = c.Close() }, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mine, peer := net.Pipe()
				defer peer.Close()
				under := &readConn{Conn: mine}
				c := newCalmConn(under)
				defer c.Close()
				for range 3 { // the ticker has run before
					under.reads.Store(0)
					ended := make(chan error, 1)
					go func() {
						_, err := c.Read(make([]byte, 1))
						ended <- err
					}()
					time.Sleep(test.after)
					synctest.Wait()
					began := time.Now()
					test.end(c)
					if err := <-ended; err == nil || time.Since(began) > 0 || under.reads.Load() != test.reads {
						t.Errorf("%v after %v, %d reads", err, time.Since(began), under.reads.Load())
					}
					_ = c.SetReadDeadline(time.Time{})
					time.Sleep(test.after)
				}
			})
		})
	}
}

// The end of a peer is seen within two ticks, and what it sends is kept for whoever reads next.
func TestCalmSeesThePeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, peer := calmPair(t)
		defer c.Close()
		began := time.Now()
		go func() { _, _ = peer.Write([]byte("x")) }()
		if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil || time.Since(began) > 2*holdTick {
			t.Error(n, err, time.Since(began))
		}
		go func() { _, _ = peer.Write([]byte("yz")) }()
		go func() {
			time.Sleep(holdTick / 2)
			_ = c.SetReadDeadline(time.Unix(1, 0))
		}()
		if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(n, err)
		}
		_ = c.SetReadDeadline(time.Time{})
		if n, err := io.ReadAtLeast(c, make([]byte, 10), 2); n != 2 || err != nil {
			t.Error(n, err)
		}
		began = time.Now()
		_ = peer.Close()
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) || time.Since(began) > 2*holdTick {
			t.Error(err, time.Since(began))
		}
	})
}
