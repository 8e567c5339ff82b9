package jsonrpcserver

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cupule/cupule/effects"
	"github.com/sourcegraph/jsonrpc2"
)

// connect serves a registry on a connection of jsonrpc2 and returns a client's.
func connect(t *testing.T, h jsonrpc2.Handler, notified func(*jsonrpc2.Request)) *jsonrpc2.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	stream := func(c net.Conn) jsonrpc2.ObjectStream {
		return jsonrpc2.NewBufferedStream(c, jsonrpc2.VSCodeObjectCodec{})
	}
	server := jsonrpc2.NewConn(context.Background(), stream(theirs), h)
	client := jsonrpc2.NewConn(context.Background(), stream(ours), jsonrpc2.HandlerWithError(
		func(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
			if notified != nil {
				notified(r)
			}
			return nil, nil
		}))
	t.Cleanup(func() {
		client.Close()
		server.Close()
		<-server.DisconnectNotify()
	})
	return client
}

func codeOf(err error) int64 {
	if wire, ok := errors.AsType[*jsonrpc2.Error](err); ok {
		return wire.Code
	}
	return 0
}

func TestHandler(t *testing.T) {
	client := connect(t, Handler(newRegistry(t), effects.Invocation{}, nil), nil)
	var difference int
	if err := client.Call(t.Context(), "subtract", []int{42, 23}, &difference); err != nil || difference != 19 {
		t.Error(difference, err)
	}
	var echoed json.RawMessage
	if err := client.Call(t.Context(), "echo", json.RawMessage(`{"n":9007199254740993}`), &echoed); err != nil || string(echoed) != `{"n":9007199254740993}` {
		t.Errorf("%s %v", echoed, err)
	}
	for method, want := range map[string]int64{"nothing": -32601, "mutate": -32001, "boom": -32603, "slow": -32004} {
		if err := client.Call(t.Context(), method, nil, nil); codeOf(err) != want {
			t.Errorf("%s: %v", method, err)
		}
	}
	if err := client.Call(t.Context(), "subtract", map[string]any{"minuend": "x"}, nil); codeOf(err) != -32602 {
		t.Error(err)
	}
	var document struct{ Methods []any }
	if err := client.Call(t.Context(), "rpc.discover", nil, &document); err != nil || len(document.Methods) == 0 {
		t.Error(document, err)
	}
	if err := client.Notify(t.Context(), "update", []int{1}); err != nil {
		t.Error(err)
	}
	if err := client.Call(t.Context(), "rpc.authenticate", nil, nil); codeOf(err) != -32601 {
		t.Error(err)
	}
}

func TestHandlerBoundsAndCancels(t *testing.T) {
	g := newGate()
	client := connect(t, Handler(newRegistry(t, g.operation()), effects.Invocation{}, &Options{MaxInFlight: 2, MaxMessage: 1000}), nil)
	var calls sync.WaitGroup
	codes := make(chan int64, 2)
	for _, id := range []string{"one", "two"} {
		calls.Go(func() {
			codes <- codeOf(client.Call(t.Context(), "gate", nil, nil, jsonrpc2.PickID(jsonrpc2.ID{Str: id, IsString: true})))
		})
	}
	g.waitStarted(t, 2)
	if err := client.Call(t.Context(), "echo", nil, nil); codeOf(err) != -32003 {
		t.Error(err)
	}
	if err := client.Call(t.Context(), "$/cancelRequest", map[string]string{"id": "one"}, nil); err != nil {
		t.Error(err)
	}
	g.waitCancelled(t)
	if code := <-codes; code != -32800 {
		t.Error(code)
	}
	if err := client.Call(t.Context(), "echo", []string{strings.Repeat("x", 1000)}, nil); codeOf(err) != -32600 {
		t.Error(err)
	}
	close(g.open)
	calls.Wait()
	if code := <-codes; code != 0 {
		t.Error(code)
	}
}

// The end of the connection cancels what runs on it.
func TestHandlerEndsWithItsConnection(t *testing.T) {
	g := newGate()
	client := connect(t, Handler(newRegistry(t, g.operation()), effects.Invocation{}, nil), nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = client.Call(context.Background(), "gate", nil, nil)
	}()
	g.waitStarted(t, 1)
	client.Close()
	g.waitCancelled(t)
	<-done
}

func TestHandlerProgress(t *testing.T) {
	heard := make(chan string, 10)
	client := connect(t, Handler(newRegistry(t, progressing(3, 0)), effects.Invocation{}, nil), func(r *jsonrpc2.Request) {
		heard <- r.Method + " " + string(*r.Params)
	})
	params := json.RawMessage(`{"_meta":{"progressToken":"t"},"a":1}`)
	var echoed json.RawMessage
	if err := client.Call(t.Context(), "work", params, &echoed); err != nil || string(echoed) != `{"a":1}` {
		t.Errorf("%s %v", echoed, err)
	}
	for i := range 3 {
		select {
		case got := <-heard:
			if !strings.HasPrefix(got, "$/progress") || !strings.Contains(got, `"token":"t"`) || !strings.Contains(got, `"progress":`+jsonNumber(i+1)) {
				t.Error(got)
			}
		case <-time.After(hang):
			t.Fatal("no progress")
		}
	}
}
