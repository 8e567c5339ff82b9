package jsonrpcserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cupule/cupule/registry"
)

// progressing is an operation that reports progress before it returns.
func progressing(n int, size int) registry.Operation {
	return registry.Operation{Name: "work", Handler: func(_ context.Context, c *registry.Call) (json.RawMessage, error) {
		for i := range n {
			c.Progress(registry.Progress{Progress: float64(i + 1), Total: float64(n), Message: strings.Repeat("m", size)})
		}
		return c.Params, nil
	}}
}

func TestProgress(t *testing.T) {
	forEachFraming(t, func(t *testing.T, headers bool) {
		c := serve(t, newServer(t, Backend{Registry: newRegistry(t, progressing(5, 0))}, nil), nil, headers)
		for _, test := range []struct{ token, request, result string }{
			{`"t"`, `{"jsonrpc":"2.0","method":"work","id":1,"meta":{"progressToken":"t"}}`, `null`},
			{`7`, `{"jsonrpc":"2.0","method":"work","id":1,"params":{"a":1,"_meta":{"progressToken":7}}}`, `{"a":1}`},
			{`1.50`, `{"jsonrpc":"2.0","method":"work","id":1,"params":{"_meta":{"progressToken":7}},"meta":{"progressToken":1.50}}`, `{}`},
		} {
			c.send(test.request)
			for i := range 5 {
				want := fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/progress","params":{"token":%s,"value":{"progress":%d,"total":5}}}`, test.token, i+1)
				if got, err := c.receive(hang); got != want {
					t.Fatalf("%q %v, want %s", got, err, want)
				}
			}
			c.expect(`{"jsonrpc":"2.0","result":` + test.result + `,"id":1}`)
		}
		// Without a token, and for a notification, there is none.
		c.send(`{"jsonrpc":"2.0","method":"work","meta":{"progressToken":"t"}}`)
		c.call(`{"jsonrpc":"2.0","method":"work","id":1}`, `{"jsonrpc":"2.0","result":null,"id":1}`)
	})
}

// Progress for a peer that doesn't read is bounded, and what is dropped is counted.
func TestProgressIsBounded(t *testing.T) {
	s := newServer(t, Backend{Registry: newRegistry(t, progressing(1000, 1000))}, nil)
	c := serve(t, s, nil, false)
	c.send(`{"jsonrpc":"2.0","method":"work","id":1,"meta":{"progressToken":1}}`)
	for s.Stats().DroppedProgress < 800 {
		time.Sleep(time.Millisecond)
	}
	last := 0.0
	for {
		got, err := c.receive(hang)
		if err != nil {
			t.Fatal(err)
		}
		var m struct {
			Params struct{ Value registry.Progress }
			ID     json.RawMessage
		}
		if err := json.Unmarshal([]byte(got), &m); err != nil {
			t.Fatal(err)
		}
		if m.ID != nil {
			break
		}
		if m.Params.Value.Progress <= last {
			t.Errorf("%v came behind %v", m.Params.Value.Progress, last)
		}
		last = m.Params.Value.Progress
	}
}
