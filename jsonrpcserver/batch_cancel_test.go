package jsonrpcserver

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const callGate3 = `[{"jsonrpc":"2.0","method":"gate","id":1},{"jsonrpc":"2.0","method":"gate","id":2},{"jsonrpc":"2.0","method":"gate","id":3}]`

// forEachStream serves a gate on each transport that is a stream, in each framing.
func forEachStream(t *testing.T, f func(t *testing.T, s *Server, c *client, g *gate)) {
	server, _ := certificate(t)
	for _, e := range []Endpoint{
		{Scheme: "unix"}, {Scheme: "tcp", Address: "127.0.0.1:0", Anonymous: true}, {Scheme: "tcp", Address: "127.0.0.1:0", Anonymous: true, TLS: server}, {Scheme: "stdio"},
	} {
		t.Run(strings.TrimSpace(fmt.Sprint(e.Scheme, map[bool]string{true: " tls"}[e.TLS != nil])), func(t *testing.T) {
			forEachFraming(t, func(t *testing.T, headers bool) {
				g := newGate()
				s := newServer(t, Backend{Registry: newRegistry(t, g.operation())}, nil)
				if e.Scheme == "stdio" {
					f(t, s, serveStdio(t, s, headers), g)
					return
				}
				if e.Scheme == "unix" {
					e.Address = socketPath(t)
				}
				f(t, s, dialSecure(t, listen(t, s, e), headers), g)
			})
		})
	}
}

// $/cancelRequest ends one call of a batch; the others run on, and all are answered together.
func TestCancelWithinABatch(t *testing.T) {
	forEachStream(t, func(t *testing.T, s *Server, c *client, g *gate) {
		c.send(callGate3)
		g.waitStarted(t, 3)
		c.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":2}}`)
		g.waitCancelled(t)
		c.call(withID(`"beside it"`), echoed("null", `"beside it"`))
		if n := s.Stats().Calls; n < 3 {
			t.Errorf("%d calls hold slots, though the batch isn't answered", n)
		}
		close(g.open)
		c.expect(`[` + echoed(`"opened"`, "1") + `,` + refused(-32800, "2") + `,` + echoed(`"opened"`, "3") + `]`)
		// All of them, from within another batch.
		g2 := `[{"jsonrpc":"2.0","method":"slow","id":"a"},{"jsonrpc":"2.0","method":"slow","id":"b"}]`
		c.send(g2)
		c.send(`[{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"a"}},{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"b"},"id":9}]`)
		var both string
		for range 2 { // in any order
			got, err := c.receive(hang)
			if err != nil {
				t.Fatal(err)
			}
			both += strings.Trim(got, "[]") + ","
		}
		if err := sameBatch(`[`+echoed("null", "9")+`,`+refused(-32800, `"a"`)+`,`+refused(-32800, `"b"`)+`]`, "["+strings.TrimSuffix(both, ",")+"]"); err != nil {
			t.Error(err)
		}
		settles(t, s, 1)
	})
}

// Hanging up amid a batch cancels all its calls, notifications too; ending one's requests doesn't.
func TestHangUpWithinABatch(t *testing.T) {
	notified := `[{"jsonrpc":"2.0","method":"gate"},{"jsonrpc":"2.0","method":"gate"},{"jsonrpc":"2.0","method":"gate"}]`
	for name, batch := range map[string]string{"requests": callGate3, "notifications": notified} {
		forEachStream(t, func(t *testing.T, s *Server, c *client, g *gate) {
			if _, ok := c.conn.(pipeConn); ok {
				return // a parent that closes its end has sent everything
			}
			c.send(batch)
			g.waitStarted(t, 3)
			if tcp, ok := c.conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0) // or the server learns of it when it writes
			}
			if secure, ok := c.conn.(interface{ NetConn() net.Conn }); ok {
				_ = secure.NetConn().(*net.TCPConn).SetLinger(0)
				_ = secure.NetConn().Close()
			}
			if unix, ok := c.conn.(*net.UnixConn); ok && name == "requests" {
				c.call(withID("5"), echoed("null", "5"))
				_ = unix.CloseRead() // and the next reply can't be written
				c.send(withID("6"))
			} else if ok {
				close(g.open) // nothing is ever written: the calls run to their end
				return
			}
			_ = c.conn.Close()
			for range 3 {
				g.waitCancelled(t)
			}
			settles(t, s, 0)
		})
	}
}

// Half a close with calls and batches in flight: each is answered, and then the connection ends.
func TestHalfCloseWithinABatch(t *testing.T) {
	forEachStream(t, func(t *testing.T, s *Server, c *client, g *gate) {
		c.send(callGate3)
		c.send(`{"jsonrpc":"2.0","method":"gate","id":4}`)
		g.waitStarted(t, 4)
		c.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":4}}`)
		c.expect(refused(-32800, "4"))
		if err := c.conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		close(g.open)
		c.expect(`[` + echoed(`"opened"`, "1") + `,` + echoed(`"opened"`, "2") + `,` + echoed(`"opened"`, "3") + `]`)
		if _, ok := c.conn.(pipeConn); !ok { // which the test itself closes
			c.expectClosed()
		}
		settles(t, s, 0)
	})
}

// A batch can't authenticate, wherever in it that stands, and one of notifications alone
// isn't answered.
func TestBatchesThatAuthenticate(t *testing.T) {
	forEachFraming(t, func(t *testing.T, headers bool) {
		l := listen(t, newServer(t, withCallers(t), nil), Endpoint{Scheme: "tcp", Address: "127.0.0.1:0"})
		c := dial(t, l, headers)
		c.call("["+authenticateAdmin+","+callWhoami+"]", "["+refused(-32600, `"a"`)+","+refused(-32002, "1")+"]")
		c.call("["+callWhoami+","+authenticateAdmin+"]", "["+refused(-32002, "1")+","+refused(-32600, `"a"`)+"]")
		// As notifications they do nothing, and what follows comes first.
		c.send(`[{"jsonrpc":"2.0","method":"rpc.authenticate","params":{"token":"admin-token"}},{"jsonrpc":"2.0","method":"echo"}]`)
		c.call(callWhoami, refused(-32002, "1"))
		c.call(authenticateAdmin, `{"jsonrpc":"2.0","id":"a","result":{"caller":"admin"}}`)
		c.call("["+callWhoami+","+authenticateAdmin+"]", "["+result("admin via tcp: mutation, inference, offline false, at most 5000", "1")+","+refused(-32600, `"a"`)+"]")
	})
}

// Where the client of a batch over HTTP is gone, all its calls are cancelled, over either
// version; see TestHTTPHangUp for HTTP/1.1.
func TestHTTP2HangUpWithinABatch(t *testing.T) {
	g := newGate()
	s, l := httpsListener(t, Backend{Registry: newRegistry(t, g.operation())}, nil)
	for name, leave := range map[string]func(p *h2peer, id uint32){
		"reset":   func(p *h2peer, id uint32) { p.reset(id) },
		"hang-up": func(p *h2peer, _ uint32) { _ = p.conn.Close() },
		"go away": func(p *h2peer, _ uint32) {
			p.send(h2frame{kind: frameGoAway, payload: make([]byte, 8)})
			_ = p.conn.Close()
		},
	} {
		p := dialH2(t, l.Addr().String())
		id := p.post(callGate3)
		g.waitStarted(t, 3)
		leave(p, id)
		for range 3 {
			g.waitCancelled(t)
		}
		_ = p.conn.Close()
		settles(t, s, 0)
		if n := s.seated.Load(); n != 0 {
			t.Errorf("%s: %d seats", name, n)
		}
	}
}

// A peer that goes while a batch is judged that nobody may answer leaves nothing either.
func TestBatchOfNotificationsAtTheEnd(t *testing.T) {
	forEachFraming(t, func(t *testing.T, headers bool) {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t, Backend{Registry: newRegistry(t, patient("short", time.Second, true))}, nil)
			c := serve(t, s, nil, headers)
			c.send(`[{"jsonrpc":"2.0","method":"short"},{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}},{"jsonrpc":"2.0","method":"nothing"}]`)
			synctest.Wait()
			if n := s.Stats().Calls; n != 1 {
				t.Errorf("%d calls", n)
			}
			time.Sleep(2 * time.Second)
			if n := s.Stats().Calls; n != 0 {
				t.Errorf("%d calls", n)
			}
			c.call(withID("1"), echoed("null", "1"))
		})
	})
}
