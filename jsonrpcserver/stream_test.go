package jsonrpcserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cupule/cupule/registry"
	"github.com/sourcegraph/jsonrpc2"
)

// gate is an operation whose calls wait until the test opens it, or their context ends.
type gate struct {
	open    chan struct{}
	started chan struct{} // receives once for each call
	ended   chan error    // receives each context's error
}

func newGate() *gate {
	return &gate{open: make(chan struct{}), started: make(chan struct{}, 10_000), ended: make(chan error, 10_000)}
}

func (g *gate) operation() registry.Operation {
	return registry.Operation{Name: "gate", Timeout: time.Hour, Handler: func(ctx context.Context, c *registry.Call) (json.RawMessage, error) {
		g.started <- struct{}{}
		select {
		case <-g.open:
			g.ended <- nil
			return json.RawMessage(`"opened"`), nil
		case <-ctx.Done():
			g.ended <- ctx.Err()
			return nil, ctx.Err()
		}
	}}
}

func (g *gate) waitStarted(t testing.TB, n int) {
	t.Helper()
	for range n {
		select {
		case <-g.started:
		case <-time.After(hang):
			t.Fatal("a call didn't start")
		}
	}
}

func (g *gate) waitCancelled(t testing.TB) {
	t.Helper()
	select {
	case err := <-g.ended:
		if err == nil {
			t.Error("the call ran to its end")
		}
	case <-time.After(hang):
		t.Fatal("the call wasn't cancelled")
	}
}

// inBubble runs a test in virtual time with a server and a client on an in-memory connection.
func inBubble(t *testing.T, b Backend, opts *Options, conn *ConnOptions, f func(t *testing.T, s *Server, c *client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, b, opts)
		f(t, s, serve(t, s, conn, false))
	})
}

func TestOversizedMessages(t *testing.T) {
	forEachFraming(t, func(t *testing.T, headers bool) {
		c := serve(t, newServer(t, Backend{}, &Options{MaxMessage: 1000, MaxBatch: 3}), nil, headers)
		refused := `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"*"}}`
		go c.send(`{"jsonrpc":"2.0","method":"echo","id":1,"params":["` + strings.Repeat("x", 100_000) + `"]}`)
		c.expect(refused)
		element := `{"jsonrpc":"2.0","method":"echo","id":1}`
		c.call("["+strings.Repeat(element+",", 3)+element+"]", refused)
		c.call("["+strings.Repeat(element+",", 2)+element+"]", "["+strings.Repeat(`{"jsonrpc":"2.0","result":null,"id":1},`, 2)+`{"jsonrpc":"2.0","result":null,"id":1}]`)
		c.call(element, `{"jsonrpc":"2.0","result":null,"id":1}`)
	})
}

// Nonsense that comes first and is too long is skipped like any other message.
func TestOversizedNonsense(t *testing.T) {
	forEachFraming(t, func(t *testing.T, headers bool) {
		for _, text := range []string{"x", "1", `"`, "-", "\xff", "{", "["} {
			c := serve(t, newServer(t, Backend{}, &Options{MaxMessage: 1000}), nil, headers)
			go c.send(strings.Repeat(text, 100_000))
			c.expect(refused(-32600, "null"))
			c.call(callEcho, `{"jsonrpc":"2.0","result":null,"id":1}`)
		}
	})
}

// TestFramingLost: what can't be read on is answered once and closed, and nothing behind
// it runs.
func TestFramingLost(t *testing.T) {
	hidden := `{"jsonrpc":"2.0","method":"hidden","id":1}`
	ran := make(chan struct{}, 1)
	reg := newRegistry(t, registry.Operation{Name: "hidden", Handler: func(context.Context, *registry.Call) (json.RawMessage, error) {
		ran <- struct{}{}
		return nil, nil
	}})
	withHeader := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(hidden), hidden)
	for name, text := range map[string]string{
		"second length":    "Content-Length: 5\r\nContent-Length: 2\r\n\r\n{}   " + withHeader,
		"length 10^12":     "Content-Length: 1000000000000\r\n\r\n" + withHeader,
		"negative length":  "Content-Length: -5\r\n\r\n" + withHeader,
		"header flood":     "Content-Length: 2\r\n" + strings.Repeat("X-Y: z\r\n", 10_000) + "\r\n{}" + withHeader,
		"unknown charset":  "Content-Length: 2\r\nContent-Type: x; charset=utf-16\r\n\r\n{}" + withHeader,
		"bare line ends":   "Content-Length: 2\nX: y\n\n{}" + strings.Repeat(" ", 5000) + withHeader,
		"longer body":      fmt.Sprintf("Content-Length: 3\r\n\r\n%s%s", hidden, withHeader),
		"HTTP, long URL":   "POST /" + strings.Repeat("A", DefaultMaxMessage) + " HTTP/1.1\r\nHost: localhost\r\n\r\n" + hidden + "\n",
		"HTTP to a socket": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n\r\n" + hidden + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, listen(t, newServer(t, Backend{Registry: reg}, nil), Endpoint{Scheme: "tcp", Address: "127.0.0.1:0", Anonymous: true}), true)
			c.headers = !strings.HasPrefix(text, "POST")
			_, _ = io.WriteString(c.conn, text) // the end may not be taken any more
			if got, err := c.receive(hang); err != nil || !strings.Contains(got, `"id":null,"error":{"code":-32`) {
				t.Errorf("%q %v", got, err)
			}
			if got, err := c.receive(hang); err == nil && !strings.Contains(got, "-32700") {
				t.Errorf("and then %q", got)
			}
			select {
			case <-ran:
				t.Error("the hidden request ran")
			default:
			}
		})
	}
}

// A message that is shorter than its Content-Length takes the next one's beginning with
// it: neither runs.
func TestShorterThanItsLength(t *testing.T) {
	c := serve(t, newServer(t, Backend{}, nil), nil, true)
	request := `{"jsonrpc":"2.0","method":"boom","id":1}`
	go func() {
		_, _ = io.WriteString(c.conn, fmt.Sprintf("Content-Length: %d\r\n\r\n%sContent-Length: %d\r\n\r\n%s", len(request)+10, request, len(request), request))
	}()
	c.expect(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"*"}}`)
	c.expect(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"*"}}`)
	c.expectClosed()
}

// What stands behind the last line end counts if it is a whole message.
func TestHalfClose(t *testing.T) {
	for name, test := range map[string]struct{ sent, want string }{
		"whole": {`{"jsonrpc":"2.0","method":"get_data","id":1}`, `{"jsonrpc":"2.0","result":["hello",5],"id":1}`},
		"half":  {`{"jsonrpc":"2.0","method":"get_da`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"*"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, listen(t, newServer(t, Backend{}, nil), Endpoint{Scheme: "unix", Address: socketPath(t)}), false)
			c.raw(test.sent)
			if err := c.conn.(*net.UnixConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			c.expect(test.want)
			c.expectClosed()
		})
	}
}

// The end of input lets what runs be answered.
func TestHalfCloseFinishesCalls(t *testing.T) {
	g := newGate()
	s := newServer(t, Backend{Registry: newRegistry(t, g.operation())}, nil)
	c := dial(t, listen(t, s, Endpoint{Scheme: "unix", Address: socketPath(t)}), false)
	c.send(`{"jsonrpc":"2.0","method":"gate","id":1}`)
	c.send(`{"jsonrpc":"2.0","method":"gate","id":2}`)
	g.waitStarted(t, 2)
	if err := c.conn.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	close(g.open)
	for range 2 {
		if got, err := c.receive(hang); err != nil || !strings.Contains(got, "opened") {
			t.Errorf("%q %v", got, err)
		}
	}
	c.expectClosed()
}

func TestResetCancels(t *testing.T) {
	g := newGate()
	s := newServer(t, Backend{Registry: newRegistry(t, g.operation())}, nil)
	c := dial(t, listen(t, s, Endpoint{Scheme: "tcp", Address: "127.0.0.1:0", Anonymous: true}), false)
	c.send(`{"jsonrpc":"2.0","method":"gate","id":1}`)
	g.waitStarted(t, 1)
	if err := c.conn.(*net.TCPConn).SetLinger(0); err != nil {
		t.Fatal(err)
	}
	c.conn.Close()
	g.waitCancelled(t)
}

// A peer that went away shows when a reply can't be written; that cancels the rest.
func TestFailedWriteCancels(t *testing.T) {
	g := newGate()
	s := newServer(t, Backend{Registry: newRegistry(t, g.operation(), sleeper())}, nil)
	c := dial(t, listen(t, s, Endpoint{Scheme: "unix", Address: socketPath(t)}), false)
	c.send(`{"jsonrpc":"2.0","method":"gate","id":1}`)
	c.send(`{"jsonrpc":"2.0","method":"sleep","id":2}`)
	g.waitStarted(t, 1)
	c.conn.Close()
	g.waitCancelled(t)
}

// sleeper is an operation that takes a moment.
func sleeper() registry.Operation {
	return registry.Operation{Name: "sleep", Handler: func(ctx context.Context, _ *registry.Call) (json.RawMessage, error) {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
		return json.RawMessage("true"), nil
	}}
}

func TestOverload(t *testing.T) {
	g := newGate()
	s := newServer(t, Backend{Registry: newRegistry(t, g.operation())}, &Options{MaxInFlight: 3, MaxInFlightBytes: 5000, MaxCalls: 4})
	c, other := serve(t, s, nil, false), serve(t, s, nil, false)
	for range 3 {
		c.send(`{"jsonrpc":"2.0","method":"gate","id":1}`)
	}
	g.waitStarted(t, 3)
	c.send(`{"jsonrpc":"2.0","method":"gate","id":2}`)
	got, err := c.receive(hang)
	if err != nil || !strings.Contains(got, `"code":-32003`) || !strings.Contains(got, `"retry_after_ms":100`) || !strings.Contains(got, `"id":2`) {
		t.Errorf("%s %v", got, err)
	}
	// A notification is dropped and counted; cancelling takes no slot.
	c.send(`{"jsonrpc":"2.0","method":"gate"}`)
	c.call(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"x"},"id":3}`, `{"jsonrpc":"2.0","result":null,"id":3}`)
	if n := s.Stats().DroppedNotifications; n != 1 {
		t.Errorf("%d dropped notifications", n)
	}
	// The server's own limit counts all connections.
	other.send(`{"jsonrpc":"2.0","method":"gate","id":4}`)
	g.waitStarted(t, 1)
	other.call(`{"jsonrpc":"2.0","method":"echo","id":5}`, `{"jsonrpc":"2.0","error":{"code":-32003,"message":"*"},"id":5}`)
	close(g.open)
	for range 3 {
		c.expect(`{"jsonrpc":"2.0","result":"opened","id":1}`)
	}
	c.call(`{"jsonrpc":"2.0","method":"echo","id":6}`, `{"jsonrpc":"2.0","result":null,"id":6}`)
	c.call(`{"jsonrpc":"2.0","method":"echo","id":7,"params":["`+strings.Repeat("x", 5000)+`"]}`, `{"jsonrpc":"2.0","error":{"code":-32003,"message":"*"},"id":7}`)
}

func TestBatchLimits(t *testing.T) {
	g := newGate()
	large := registry.Operation{Name: "large", Handler: func(context.Context, *registry.Call) (json.RawMessage, error) {
		return json.RawMessage("\"" + strings.Repeat("x", 60_000) + "\""), nil
	}}
	forEachFraming(t, func(t *testing.T, headers bool) {
		s := newServer(t, Backend{Registry: newRegistry(t, g.operation(), large)}, &Options{MaxBatchOutput: 100_000, MaxInFlight: 2})
		c := serve(t, s, nil, headers)
		request := func(method string, id int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","method":"%s","id":%d}`, method, id)
		}
		c.send("[" + request("large", 1) + "," + request("large", 1) + "]")
		got, err := c.receive(hang)
		if err != nil || strings.Count(got, "-32005") != 1 || strings.Count(got, `"result"`) != 1 || !json.Valid([]byte(got)) {
			t.Errorf("%.200s %v", got, err)
		}
		// A batch shares the slots of its connection.
		c.send("[" + request("boom", 1) + "," + request("boom", 2) + "," + request("boom", 3) + "," + request("boom", 4) + "]")
		got, err = c.receive(hang)
		if err != nil || strings.Count(got, "-32603") < 2 || strings.Count(got, "-32003") > 2 {
			t.Errorf("%s %v", got, err)
		}
		c.call("["+request("multiline", 1)+"]", `[{"jsonrpc":"2.0","result":{"a":"b c"},"id":1}]`)
	})
}

// Errors that operations make count as output of their batch, and others don't.
func TestBatchErrorsAreOutput(t *testing.T) {
	data := json.RawMessage("\"" + strings.Repeat("x", 60_000) + "\"")
	own := registry.Operation{Name: "own", Handler: func(context.Context, *registry.Call) (json.RawMessage, error) {
		return nil, &jsonrpc2.Error{Code: 42, Message: "no", Data: &data}
	}}
	c := serve(t, newServer(t, Backend{Registry: newRegistry(t, own)}, &Options{MaxBatchOutput: 100_000}), nil, false)
	request := `{"jsonrpc":"2.0","method":"own","id":1}`
	c.send("[" + strings.Repeat(request+",", 4) + `{"jsonrpc":"2.0","method":"absent","id":2}]`)
	got, err := c.receive(hang)
	if err != nil || strings.Count(got, `"code":42`) != 1 || strings.Count(got, "-32005") != 3 || strings.Count(got, "-32601") != 1 {
		t.Errorf("%.300s %v", got, err)
	}
}

// Responses are ignored, alone and in a batch, and a batch of nothing else has no reply.
func TestResponsesAreIgnored(t *testing.T) {
	c := serve(t, newServer(t, Backend{}, nil), nil, false)
	c.send(`{"jsonrpc":"2.0","result":1,"id":1}`)
	c.send(`{"jsonrpc":"2.0","error":{"code":1,"message":"m"},"id":null}`)
	c.send(`[{"jsonrpc":"2.0","result":1,"id":1}]`)
	c.call(`[{"jsonrpc":"2.0","result":1,"id":1},{"jsonrpc":"2.0","method":"echo","id":2}]`, `[{"jsonrpc":"2.0","result":null,"id":2}]`)
}

func TestNewlinesInResults(t *testing.T) {
	s := newServer(t, Backend{}, nil)
	serve(t, s, nil, false).call(`{"jsonrpc":"2.0","method":"multiline","id":1}`, `{"jsonrpc":"2.0","result":{"a":"b c"},"id":1}`)
	c := serve(t, s, nil, true)
	c.send(`{"jsonrpc":"2.0","method":"multiline","id":1}`)
	if got, err := c.receive(hang); err != nil || !strings.Contains(got, "{\n  \"a\": \"b c\"\n}") {
		t.Errorf("the result's bytes changed: %q %v", got, err)
	}
}

func TestApplicationErrors(t *testing.T) {
	data := json.RawMessage(`{"z":1,"a":[9007199254740993]}`)
	own := &jsonrpc2.Error{Code: 42, Message: "no", Data: &data}
	s := newServer(t, Backend{Registry: newRegistry(t,
		registry.Operation{Name: "own", Handler: func(context.Context, *registry.Call) (json.RawMessage, error) { return nil, own }},
		registry.Operation{Name: "plain", Handler: func(context.Context, *registry.Call) (json.RawMessage, error) {
			return nil, fmt.Errorf("open /secret: no")
		}},
	)}, nil)
	c := serve(t, s, nil, false)
	c.send(`{"jsonrpc":"2.0","method":"own","id":1}`)
	if got, _ := c.receive(hang); got != `{"jsonrpc":"2.0","id":1,"error":{"code":42,"message":"no","data":{"z":1,"a":[9007199254740993]}}}` {
		t.Error(got)
	}
	c.send(`{"jsonrpc":"2.0","method":"plain","id":1}`)
	if got, _ := c.receive(hang); !strings.Contains(got, "-32603") || strings.Contains(got, "secret") {
		t.Error(got)
	}
}
