package jsonrpcserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cupule/cupule/registry"
)

// The reader runs calls of quick operations itself. One that turns out slow doesn't keep
// what comes behind it waiting.
func TestSlowCallOfQuickOperation(t *testing.T) {
	g := newGate()
	var slow bool
	op := g.operation()
	reg := newRegistry(t, registry.Operation{Name: "moody", Handler: func(ctx context.Context, c *registry.Call) (json.RawMessage, error) {
		if slow {
			return op.Handler(ctx, c)
		}
		return json.RawMessage("0"), nil
	}})
	for _, way := range []string{"pipe", "unix"} {
		slow = false
		s := newServer(t, Backend{Registry: reg}, nil)
		c := serve(t, s, nil, false)
		if way == "unix" {
			c = dial(t, listen(t, s, Endpoint{Scheme: "unix", Address: socketPath(t)}), false)
		}
		for s.current.Load().known["moody"].pace.average.Load() > int64(quickAlone)/2 {
			c.call(`{"jsonrpc":"2.0","method":"moody","id":1}`, `{"jsonrpc":"2.0","result":0,"id":1}`)
		}
		slow = true
		for i := range 3 {
			c.send(`{"jsonrpc":"2.0","method":"moody","id":"slow"}`)
			g.waitStarted(t, 1)
			c.call(`{"jsonrpc":"2.0","method":"echo","id":2}`, `{"jsonrpc":"2.0","result":null,"id":2}`)
			c.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"slow"}}`)
			c.expect(`{"jsonrpc":"2.0","id":"slow","error":{"code":-32800,"message":"*"}}`)
			<-g.ended
			if i == 1 { // and it may be quick again
				slow = false
				for range 100 {
					c.call(`{"jsonrpc":"2.0","method":"moody","id":1}`, `{"jsonrpc":"2.0","result":0,"id":1}`)
				}
				slow = true
			}
		}
	}
}

// A connection writes whole messages, whoever they are from.
func TestRepliesDoNotMix(t *testing.T) {
	large := registry.Operation{Name: "large", Handler: func(_ context.Context, c *registry.Call) (json.RawMessage, error) {
		return json.RawMessage(`"` + strings.Repeat("y", 40_000) + `"`), nil
	}}
	forEachFraming(t, func(t *testing.T, headers bool) {
		s := newServer(t, Backend{Registry: newRegistry(t, large)}, nil)
		c := dial(t, listen(t, s, Endpoint{Scheme: "unix", Address: socketPath(t)}), headers)
		const n = 200
		go func() {
			for i := range n {
				method := [...]string{"echo", "large", "nothing"}[i%3]
				c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"%s","id":%d}`, method, i))
			}
		}()
		seen := map[string]bool{}
		for range n {
			got, err := c.receive(hang)
			if err != nil {
				t.Fatal(err)
			}
			r := parseReply(got)
			if r == nil || seen[r[0]] {
				t.Fatalf("%.100s", got)
			}
			seen[r[0]] = true
		}
	})
}

// What the reader writes itself arrives whole, though the socket takes only a part at once.
func TestReaderWritesInParts(t *testing.T) {
	text := json.RawMessage(`"` + strings.Repeat("z", 60_000) + `"`)
	s := newServer(t, Backend{Registry: newRegistry(t, registry.Operation{Name: "constant", Handler: func(context.Context, *registry.Call) (json.RawMessage, error) {
		return text, nil
	}})}, nil)
	c := dial(t, listen(t, s, Endpoint{Scheme: "unix", Address: socketPath(t)}), true)
	const n = 100
	request := `{"jsonrpc":"2.0","method":"constant","id":%d}`
	reply := `{"jsonrpc":"2.0","id":%d,"result":` + string(text) + `}`
	for i := range n { // until it is known to be quick
		c.send(fmt.Sprintf(request, i))
		if got, err := c.receive(hang); err != nil || got != fmt.Sprintf(reply, i) {
			t.Fatalf("%.80q %v", got, err)
		}
	}
	go func() {
		for i := range n {
			c.send(fmt.Sprintf(request, i))
		}
	}()
	seen := map[string]bool{}
	for range n {
		got, err := c.receive(hang)
		r := parseReply(got)
		if err != nil || r == nil || len(got) < len(text) || seen[r[0]] {
			t.Fatalf("%.80q %v", got, err)
		}
		seen[r[0]] = true
	}
}
