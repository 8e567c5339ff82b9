package jsonrpcserver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cupule/cupule/registry"
)

// patient is an operation that takes so long, whatever its context says.
func patient(name string, long time.Duration, heeds bool) registry.Operation {
	return registry.Operation{Name: name, Timeout: time.Hour, Handler: func(ctx context.Context, _ *registry.Call) (json.RawMessage, error) {
		if !heeds {
			ctx = context.Background()
		}
		select {
		case <-time.After(long):
			return json.RawMessage("true"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
}

func TestShutdownDrains(t *testing.T) {
	b := func(t *testing.T) Backend {
		return Backend{Registry: newRegistry(t, patient("short", 3*time.Second, true), patient("long", time.Hour, true))}
	}
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, b(t), nil)
		busy, idle, stuck := serve(t, s, nil, false), serve(t, s, nil, false), serve(t, s, nil, false)
		busy.send(`{"jsonrpc":"2.0","method":"short","id":1}`)
		stuck.send(`{"jsonrpc":"2.0","method":"long","id":2}`)
		stuck.send(`[{"jsonrpc":"2.0","method":"long","id":3},{"jsonrpc":"2.0","method":"echo","id":4}]`)
		synctest.Wait()
		done := make(chan error, 1)
		began := time.Now()
		go func() { done <- s.Shutdown(t.Context()) }()
		idle.expectClosed()
		busy.call(callEcho, refused(-32010, "1"))
		busy.expect(`{"jsonrpc":"2.0","result":true,"id":1}`)
		busy.expectClosed()
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("the running call was answered after %v", took)
		}
		// Past the grace, what still runs is cancelled and told why.
		for range 2 {
			got, err := stuck.receive(hang)
			if err != nil || !strings.Contains(got, "-32010") {
				t.Errorf("%q %v", got, err)
			}
		}
		stuck.expectClosed()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != DefaultGrace {
			t.Errorf("shut down after %v", took)
		}
		ours, theirs := net.Pipe()
		defer ours.Close()
		if err := s.ServeConn(t.Context(), theirs, nil); !errors.Is(err, ErrClosed) {
			t.Errorf("serving goes on: %v", err)
		}
		if err := s.ServeStdio(t.Context(), strings.NewReader(""), io.Discard); !errors.Is(err, ErrClosed) {
			t.Errorf("serving goes on: %v", err)
		}
	})
}

// A shutdown that is cut short cancels at once.
func TestShutdownNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Backend{Registry: newRegistry(t, patient("long", time.Hour, true))}, nil)
		c := serve(t, s, nil, false)
		c.send(`{"jsonrpc":"2.0","method":"long","id":1}`)
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		go func() { _ = s.Shutdown(ctx) }()
		began := time.Now()
		c.expect(refused(-32010, "1"))
		c.expectClosed()
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %v", took)
		}
	})
}

// A handler that heeds nothing is reported, and doesn't hold Shutdown up for ever.
func TestShutdownReportsStrays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Backend{Registry: newRegistry(t, patient("deaf", time.Minute, false))}, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := serve(t, s, nil, false)
		c.send(`{"jsonrpc":"2.0","method":"deaf","id":1}`)
		synctest.Wait()
		if err := s.Shutdown(t.Context()); err == nil || !strings.Contains(err.Error(), "1 calls still run") {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// The end of a connection's context drains that connection alone.
func TestConnectionContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Backend{Registry: newRegistry(t, patient("short", time.Second, true), patient("long", time.Hour, true))}, nil)
		other := serve(t, s, nil, false)
		for method, code := range map[string]string{"short": `"result":true`, "long": "-32800"} {
			ours, theirs := net.Pipe()
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- s.ServeConn(ctx, theirs, &ConnOptions{Caller: LocalCaller}) }()
			c := newClient(t, ours, false)
			c.send(`{"jsonrpc":"2.0","method":"` + method + `","id":1}`)
			synctest.Wait()
			cancel()
			if got, err := c.receive(time.Minute); err != nil || !strings.Contains(got, code) {
				t.Errorf("%s: %q %v", method, got, err)
			}
			c.expectClosed()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		other.call(callEcho, `{"jsonrpc":"2.0","result":null,"id":1}`)
	})
}

// A connection whose context has ended waits one grace in all, whenever Shutdown comes, and
// what is cancelled then says why.
func TestShutdownAfterConnectionContext(t *testing.T) {
	for name, after := range map[string]time.Duration{"at once": 0, "shortly before the grace ends": DefaultGrace - time.Second, "as it ends": DefaultGrace} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, Backend{Registry: newRegistry(t, patient("long", time.Hour, true))}, nil)
				ctx, cancel := context.WithCancel(t.Context())
				ours, theirs := net.Pipe()
				done := make(chan error, 1)
				go func() { done <- s.ServeConn(ctx, theirs, &ConnOptions{Caller: LocalCaller}) }()
				c := newClient(t, ours, false)
				c.send(`{"jsonrpc":"2.0","method":"long","id":1}`)
				synctest.Wait()
				began := time.Now()
				cancel()
				time.Sleep(after)
				stopped := make(chan error, 1)
				go func() { stopped <- s.Shutdown(t.Context()) }()
				code := "-32010"
				if after == DefaultGrace {
					code = "-32" // cancelled or stopped, whichever comes first
				}
				if got, err := c.receive(time.Minute); err != nil || !strings.Contains(got, code) {
					t.Errorf("%q %v", got, err)
				}
				c.expectClosed()
				if took := time.Since(began); took != DefaultGrace {
					t.Errorf("it took %v", took)
				}
				if err := <-done; err != nil {
					t.Error(err)
				}
				if err := <-stopped; err != nil || time.Since(began) != DefaultGrace {
					t.Errorf("%v after %v", err, time.Since(began))
				}
			})
		})
	}
}

// stdio whose reads can't be interrupted is left when the context ends.
func TestStdioContext(t *testing.T) {
	s := newServer(t, Backend{}, nil)
	in, feed := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.ServeStdio(ctx, in, io.Discard) }()
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(hang):
		t.Error("ServeStdio didn't return")
	}
	feed.Close()
}

// stdout that nobody reads, and that has no deadlines, ends the connection too.
func TestStdioPeerThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Backend{}, nil)
		in, feed := io.Pipe()
		unread, out := io.Pipe()
		done := make(chan error, 1)
		go func() { done <- s.ServeStdio(t.Context(), in, out) }()
		if _, err := io.WriteString(feed, callEcho+"\n"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := <-done; err == nil {
			t.Error("no error, though a reply is cut short")
		}
		if took := time.Since(began); took != DefaultWriteTimeout {
			t.Errorf("it took %v", took)
		}
		unread.Close()
		feed.Close()
	})
}

func TestStdioEndsWithItsInput(t *testing.T) {
	s := newServer(t, Backend{}, nil)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := s.ServeStdio(t.Context(), strings.NewReader(callEcho+"\n"+callEcho), w); err != nil {
		t.Error(err)
	}
	w.Close()
	out, err := io.ReadAll(r)
	if err != nil || strings.Count(string(out), `"result":null`) != 2 {
		t.Errorf("%q %v", out, err)
	}
}

// Serve drains when its context ends, HTTP included.
func TestServeDrains(t *testing.T) {
	g := newGate()
	s := newServer(t, Backend{Registry: newRegistry(t, g.operation())}, nil)
	var listeners []*Listener
	for _, e := range []Endpoint{{Scheme: "unix", Address: socketPath(t)}, {Scheme: "http", Address: "127.0.0.1:0", Anonymous: true}} {
		l, err := s.Listen(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, l)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, listeners...) }()
	c := dial(t, listeners[0], false)
	c.send(`{"jsonrpc":"2.0","method":"gate","id":1}`)
	body := make(chan string, 1)
	go func() {
		_, _, text := post(t, listeners[1], `{"jsonrpc":"2.0","method":"gate","id":2}`)
		body <- text
	}()
	g.waitStarted(t, 2)
	cancel()
	for {
		if _, err := net.Dial("unix", listeners[0].Addr().String()); err != nil {
			break
		}
	}
	close(g.open)
	c.expect(`{"jsonrpc":"2.0","result":"opened","id":1}`)
	if got := <-body; !strings.Contains(got, "opened") {
		t.Error(got)
	}
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(hang):
		t.Error("Serve didn't return")
	}
	if _, err := os.Lstat(listeners[0].Addr().String()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket file is left: %v", err)
	}
}

// Where the end of Serve's context stops the whole server, calls that outlast the grace are
// told that it shuts down, and not that somebody cancelled them.
func TestServeSaysWhyItCancels(t *testing.T) {
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		s := newServer(t, Backend{Registry: newRegistry(t, patient("long", time.Hour, true))}, &Options{Grace: 20 * time.Millisecond})
		l, err := s.Listen(ctx, Endpoint{Scheme: "unix", Address: socketPath(t)})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- s.Serve(ctx, l) }()
		c := dial(t, l, false)
		c.call(withID("0"), echoed("null", "0"))
		c.send(`{"jsonrpc":"2.0","method":"long","id":1}`)
		c.call(withID("2"), echoed("null", "2"))
		cancel()
		c.expect(refused(-32010, "1"))
		c.expectClosed()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
