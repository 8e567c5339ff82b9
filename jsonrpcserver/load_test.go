package jsonrpcserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cupule/cupule/registry"
)

// 10,000 requests pipelined by a peer that reads nothing until it has sent them all: each
// is answered, within bounded goroutines and memory.
func TestPipelinedFlood(t *testing.T) {
	const n = 10_000
	forEachFraming(t, func(t *testing.T, headers bool) {
		s := newServer(t, Backend{Registry: newRegistry(t, sleeper())}, nil)
		c := dial(t, listen(t, s, Endpoint{Scheme: "unix", Address: socketPath(t)}), headers)
		goroutines := runtime.NumGoroutine()
		for i := range n {
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"sleep","id":%d,"params":{"filler":"%s"}}`, i, strings.Repeat("x", 100)))
		}
		if more := runtime.NumGoroutine() - goroutines; more > DefaultMaxInFlight+10 {
			t.Errorf("%d goroutines more", more)
		}
		t.Logf("%d goroutines more while %d requests arrive", runtime.NumGoroutine()-goroutines, n)
		answered := map[string]bool{}
		overloaded := 0
		for range n {
			got, err := c.receive(hang)
			if err != nil {
				t.Fatalf("after %d answers: %v", len(answered), err)
			}
			r := parseReply(got)
			if r == nil || answered[r[0]] {
				t.Fatalf("%q", got)
			}
			answered[r[0]] = true
			if r[1] == "-32003" {
				overloaded++
			}
		}
		if overloaded == 0 || overloaded > n-DefaultMaxInFlight {
			t.Errorf("%d of %d were refused", overloaded, n)
		}
	})
}

// A peer that doesn't read is dropped after the write deadline, and holds up nobody.
func TestPeerThatDoesNotRead(t *testing.T) {
	large := registry.Operation{Name: "large", Handler: func(context.Context, *registry.Call) (json.RawMessage, error) {
		return json.RawMessage(`"` + strings.Repeat("x", 200_000) + `"`), nil
	}}
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Backend{Registry: newRegistry(t, large)}, nil)
		stuck, quick := serve(t, s, nil, false), serve(t, s, nil, false)
		var sending sync.WaitGroup
		defer sending.Wait()
		sending.Go(func() {
			for range 100 {
				if _, err := io.WriteString(stuck.conn, `{"jsonrpc":"2.0","method":"large","id":1}`+"\n"); err != nil {
					return
				}
			}
		})
		synctest.Wait()
		quick.call(callEcho, `{"jsonrpc":"2.0","result":null,"id":1}`)
		began := time.Now()
		time.Sleep(DefaultWriteTimeout + 2*time.Second)
		if n := s.Stats().Connections; n != 1 {
			t.Errorf("%d connections are open after %v", n, time.Since(began))
		}
		quick.call(callEcho, `{"jsonrpc":"2.0","result":null,"id":1}`)
		if n := s.Stats().Calls; n != 0 {
			t.Errorf("%d calls hold slots", n)
		}
	})
}

// 64 peers that ask for much and read nothing cost what their connections may hold.
func TestManyPeersThatDoNotRead(t *testing.T) {
	const peers, size = 64, 250_000
	text := json.RawMessage(`"` + strings.Repeat("x", size) + `"`)
	var ran atomic.Int64
	large := registry.Operation{Name: "large", Handler: func(context.Context, *registry.Call) (json.RawMessage, error) {
		ran.Add(1)
		return append(json.RawMessage(nil), text...), nil
	}}
	s := newServer(t, Backend{Registry: newRegistry(t, large)}, &Options{WriteTimeout: time.Minute, MaxInFlight: 16})
	l := listen(t, s, Endpoint{Scheme: "unix", Address: socketPath(t)})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	request := []byte(strings.Repeat(`{"jsonrpc":"2.0","method":"large","id":1}`+"\n", 500))
	for range peers {
		c := dial(t, l, false)
		_ = c.conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		_, _ = c.conn.Write(request)
	}
	for last := int64(-1); last != ran.Load(); time.Sleep(50 * time.Millisecond) {
		last = ran.Load()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	grown := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("%d calls ran, %d bytes grown, %d goroutines", ran.Load(), grown, runtime.NumGoroutine())
	if limit := int64(8<<20 + peers*(maxUnread+16*size)); grown > limit {
		t.Errorf("%d bytes for %d peers, more than %d", grown, peers, limit)
	}
	dial(t, l, false).call(callEcho, `{"jsonrpc":"2.0","result":null,"id":1}`)
}

// A slot is held until the reply is about to be written, so results can't pile up for a
// peer that doesn't read: what exceeds the slots is refused, not run.
func TestSlotsAreHeldUntilTheWrite(t *testing.T) {
	var ran atomic.Int64
	op := registry.Operation{Name: "large", Handler: func(context.Context, *registry.Call) (json.RawMessage, error) {
		ran.Add(1)
		return json.RawMessage(`"` + strings.Repeat("x", 200_000) + `"`), nil
	}}
	inBubble(t, Backend{Registry: newRegistry(t, op)}, &Options{MaxInFlight: 4}, nil, func(t *testing.T, s *Server, c *client) {
		for i := range 20 {
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"large","id":%d}`, i))
			synctest.Wait()
		}
		if n := ran.Load(); n < 4 || n > 6 {
			t.Errorf("%d calls ran", n)
		}
		refusals := 0
		for range 20 {
			got, err := c.receive(hang)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(got, "-32003") {
				refusals++
			}
		}
		if n := int(ran.Load()); refusals != 20-n {
			t.Errorf("%d refusals, %d calls", refusals, n)
		}
	})
}

// Refusals that nobody reads stop the reader, not grow.
func TestUnreadRefusalsAreBounded(t *testing.T) {
	s := newServer(t, Backend{}, &Options{WriteTimeout: time.Minute})
	l := listen(t, s, Endpoint{Scheme: "unix", Address: socketPath(t)})
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	flood := []byte(strings.Repeat("x\n", 50_000))
	sent := 0
	for range 200 {
		_ = conn.SetWriteDeadline(time.Now().Add(300 * time.Millisecond))
		n, err := conn.Write(flood)
		sent += n
		if err != nil {
			break
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 3*maxUnread {
		t.Errorf("%d bytes of nonsense cost %d bytes of memory", sent, grown)
	}
	if sent > 100*len(flood) {
		t.Errorf("the server took %d bytes of nonsense from a peer that doesn't read", sent)
	}
}

// 1,000 idle connections cost little, and one connection too many is told so.
func TestIdleConnections(t *testing.T) {
	const n = 1000
	s := newServer(t, Backend{}, &Options{MaxConnections: n})
	l := listen(t, s, Endpoint{Scheme: "unix", Address: socketPath(t)})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	clients := make([]net.Conn, n)
	for i := range clients {
		conn, err := net.Dial("unix", l.Addr().String())
		if err != nil {
			t.Skipf("connection %d: %v", i, err)
		}
		defer conn.Close()
		clients[i] = conn
		if _, err := io.WriteString(conn, callEcho+"\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAtLeast(conn, make([]byte, 100), 10); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	t.Logf("%d goroutines for %d connections", runtime.NumGoroutine(), n)
	if each := (int64(after.HeapAlloc) + int64(after.StackInuse) - int64(before.HeapAlloc) - int64(before.StackInuse)) / n; each > 32<<10 {
		t.Errorf("%d bytes for each connection", each)
	} else {
		t.Logf("%d bytes for each connection", each)
	}
	surplus := dial(t, l, false)
	surplus.expect(refused(-32003, "null"))
	surplus.expectClosed()
	if s.Stats().RefusedConnections != 1 {
		t.Error(s.Stats())
	}
	clients[0].Close()
	for s.Stats().Connections == n {
		time.Sleep(time.Millisecond)
	}
	dial(t, l, false).call(callEcho, `{"jsonrpc":"2.0","result":null,"id":1}`)
}

// Many connections at once get their own answers.
func TestManyConnections(t *testing.T) {
	s := newServer(t, Backend{}, nil)
	l := listen(t, s, Endpoint{Scheme: "tcp", Address: "127.0.0.1:0", Anonymous: true})
	var all sync.WaitGroup
	for i := range 32 {
		c := dial(t, l, i%2 == 0)
		all.Go(func() {
			for j := range 50 {
				c.call(fmt.Sprintf(`{"jsonrpc":"2.0","method":"echo","params":[%d,%d],"id":%d}`, i, j, j),
					fmt.Sprintf(`{"jsonrpc":"2.0","result":[%d,%d],"id":%d}`, i, j, j))
			}
		})
	}
	all.Wait()
}

func TestDeadlines(t *testing.T) {
	timed := &ConnOptions{Origin: "tcp", Caller: AnonymousCaller, Timed: true}
	opts := &Options{IdleTimeout: time.Minute, MessageTimeout: 10 * time.Second, GreetTimeout: 5 * time.Second}
	t.Run("idle", func(t *testing.T) {
		inBubble(t, Backend{}, opts, timed, func(t *testing.T, s *Server, c *client) {
			for range 3 {
				time.Sleep(50 * time.Second)
				c.call(callEcho, `{"jsonrpc":"2.0","result":null,"id":1}`)
			}
			began := time.Now()
			_, err := c.receive(time.Hour)
			if idle := time.Since(began); err == nil || idle < 50*time.Second || idle > 70*time.Second {
				t.Errorf("closed after %v: %v", idle, err)
			}
		})
	})
	t.Run("not while a call runs", func(t *testing.T) {
		slow := registry.Operation{Name: "patient", Timeout: time.Hour, Handler: func(context.Context, *registry.Call) (json.RawMessage, error) {
			time.Sleep(30 * time.Minute)
			return json.RawMessage("true"), nil
		}}
		inBubble(t, Backend{Registry: newRegistry(t, slow)}, opts, timed, func(t *testing.T, s *Server, c *client) {
			c.send(`{"jsonrpc":"2.0","method":"patient","id":1}`)
			if got, err := c.receive(time.Hour); err != nil || !strings.Contains(got, "true") {
				t.Errorf("%q %v", got, err)
			}
			began := time.Now()
			_, err := c.receive(time.Hour)
			if idle := time.Since(began); err == nil || idle < 59*time.Second || idle > 70*time.Second {
				t.Errorf("closed %v after the call: %v", idle, err)
			}
		})
	})
	t.Run("slow message", func(t *testing.T) {
		inBubble(t, Backend{}, opts, timed, func(t *testing.T, s *Server, c *client) {
			began := time.Now()
			var drip sync.WaitGroup
			defer drip.Wait()
			drip.Go(func() {
				for {
					if _, err := io.WriteString(c.conn, "["); err != nil {
						return
					}
					time.Sleep(time.Second)
				}
			})
			if got, err := c.receive(time.Minute); err != nil || !strings.Contains(got, "-32004") {
				t.Errorf("%q %v", got, err)
			}
			c.expectClosed()
			if took := time.Since(began); took < 9*time.Second || took > 15*time.Second {
				t.Errorf("closed after %v", took)
			}
		})
	})
	t.Run("no token", func(t *testing.T) {
		inBubble(t, Backend{}, opts, &ConnOptions{Origin: "tcp", Timed: true}, func(t *testing.T, s *Server, c *client) {
			began := time.Now()
			c.call(callEcho, refused(-32002, "1"))
			time.Sleep(3 * time.Second)
			c.call(callEcho, refused(-32002, "1"))
			c.expect(refused(-32004, "null"))
			c.expectClosed()
			if took := time.Since(began); took < 4*time.Second || took > 7*time.Second {
				t.Errorf("closed after %v", took)
			}
		})
	})
	t.Run("untimed", func(t *testing.T) {
		inBubble(t, Backend{}, opts, nil, func(t *testing.T, s *Server, c *client) {
			c.raw(`{"jsonrpc":"2.0",`)
			time.Sleep(24 * time.Hour)
			c.raw(`"method":"echo","id":1}` + "\n")
			c.expect(`{"jsonrpc":"2.0","result":null,"id":1}`)
		})
	})
}

// Before it is known who speaks, messages are short, and an overlong one is skipped.
func TestGreetingIsShort(t *testing.T) {
	forEachFraming(t, func(t *testing.T, headers bool) {
		c := dial(t, listen(t, newServer(t, withCallers(t), nil), Endpoint{Scheme: "tcp", Address: "127.0.0.1:0"}), headers)
		long := `{"jsonrpc":"2.0","method":"echo","id":1,"params":["` + strings.Repeat("x", maxGreeting) + `"]}`
		c.call(long, refused(-32600, "null"))
		c.call(authenticateAdmin, isAdmin)
		c.call(long, `{"jsonrpc":"2.0","result":["`+strings.Repeat("x", maxGreeting)+`"],"id":1}`)
	})
}

// shaky is a listener that fails for a while, as it does without descriptors.
type shaky struct {
	net.Listener
	failures int
}

func (l *shaky) Accept() (net.Conn, error) {
	if l.failures--; l.failures >= 0 {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return nil, net.ErrClosed
}

func TestAcceptOutlivesShortage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bounded{Listener: &shaky{failures: 5}, server: newServer(t, Backend{}, nil)}
		began := time.Now()
		if _, err := b.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		if took := time.Since(began); took < 50*time.Millisecond || took > time.Second {
			t.Errorf("it took %v", took)
		}
	})
}
