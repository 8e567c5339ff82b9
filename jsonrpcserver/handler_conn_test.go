package jsonrpcserver

import (
	"context"
	"encoding/json"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
	"github.com/sourcegraph/jsonrpc2"
)

// TestHandlerConcurrentCalls: 64 calls run at once, and each gets its own answer.
func TestHandlerConcurrentCalls(t *testing.T) {
	const n = 64
	g := newGate()
	gated := g.operation()
	gated.Handler = func(_ context.Context, c *registry.Call) (json.RawMessage, error) {
		g.started <- struct{}{}
		<-g.open
		return c.Params, nil
	}
	client := connect(t, Handler(newRegistry(t, gated), effects.Invocation{}, nil), nil)
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() {
			var got []int
			if err := client.Call(t.Context(), "gate", []int{i}, &got); err != nil || len(got) != 1 || got[0] != i {
				t.Errorf("%d: %v, %v", i, got, err)
			}
		})
	}
	g.waitStarted(t, n) // none has been answered yet
	close(g.open)
	calls.Wait()
}

// TestHandlerNotifications: each runs, none is answered, failed and denied ones included, and
// the connection lives on.
func TestHandlerNotifications(t *testing.T) {
	ran := make(chan string, 10)
	note := func(name string, set effects.Set) registry.Operation {
		return registry.Operation{Name: name, Effects: set, Handler: func(context.Context, *registry.Call) (json.RawMessage, error) {
			ran <- name
			return nil, nil
		}}
	}
	reg := newRegistry(t, note("noted", 0), note("forbidden", effects.NewSet(effects.Mutation)))
	client := connect(t, Handler(reg, effects.Invocation{}, nil), func(r *jsonrpc2.Request) { t.Errorf("the server sent %s", r.Method) })
	for _, method := range []string{"nothing", "forbidden", "boom", "$/cancelRequest", "noted"} {
		if err := client.Notify(t.Context(), method, map[string]any{"id": 99}); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
	if got := <-ran; got != "noted" {
		t.Errorf("%s ran", got)
	}
	if err := client.Call(t.Context(), "forbidden", nil, nil); codeOf(err) != -32001 {
		t.Error(err)
	}
	if len(ran) != 0 {
		t.Errorf("%s ran", <-ran)
	}
}

// TestHandlerCancelsItsOwn: an id cancels on its own connection alone, by number or string,
// and one that runs no call is ignored.
func TestHandlerCancelsItsOwn(t *testing.T) {
	g := newGate()
	h := Handler(newRegistry(t, g.operation()), effects.Invocation{}, nil)
	mine, other := connect(t, h, nil), connect(t, h, nil)
	for _, row := range []struct {
		id     jsonrpc2.ID
		cancel string
	}{
		{jsonrpc2.ID{Num: 5}, `{"id":5}`},
		{jsonrpc2.ID{Str: "5", IsString: true}, `{"id":"5"}`},
	} {
		code := make(chan int64, 1)
		go func() { code <- codeOf(mine.Call(t.Context(), "gate", nil, nil, jsonrpc2.PickID(row.id))) }()
		g.waitStarted(t, 1)
		for _, params := range []string{row.cancel, `{"id":null}`, `{"id":[1]}`, `{}`, `[]`} {
			if err := other.Call(t.Context(), "$/cancelRequest", json.RawMessage(params), nil); err != nil {
				t.Errorf("%s: %v", params, err)
			}
		}
		select {
		case <-g.ended:
			t.Error("cancelled from another connection")
		default:
		}
		if err := mine.Notify(t.Context(), "$/cancelRequest", json.RawMessage(row.cancel)); err != nil {
			t.Error(err)
		}
		g.waitCancelled(t)
		if got := <-code; got != -32800 {
			t.Errorf("%s: %d", row.cancel, got)
		}
	}
}

// TestHandlerDisconnectCancelsAll: the end of a connection cancels its calls and gives their
// slots back; those of another connection run on.
func TestHandlerDisconnectCancelsAll(t *testing.T) {
	const n = 8
	g := newGate()
	h := Handler(newRegistry(t, g.operation()), effects.Invocation{}, &Options{MaxInFlight: n + 1})
	leaving, staying := connect(t, h, nil), connect(t, h, nil)
	kept := make(chan error, 1)
	go func() { kept <- staying.Call(t.Context(), "gate", nil, nil) }()
	var calls sync.WaitGroup
	for range n {
		calls.Go(func() { _ = leaving.Call(context.Background(), "gate", nil, nil) })
	}
	g.waitStarted(t, n+1)
	if err := staying.Call(t.Context(), "echo", nil, nil); codeOf(err) != -32003 {
		t.Errorf("there is a slot: %v", err)
	}
	leaving.Close()
	for range n {
		g.waitCancelled(t)
	}
	calls.Wait()
	for end := time.Now().Add(hang); staying.Call(t.Context(), "echo", nil, nil) != nil; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("the slots aren't given back")
		}
	}
	close(g.open)
	if err := <-kept; err != nil {
		t.Error(err)
	}
}
