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

func TestCancelRequest(t *testing.T) {
	g := newGate()
	inBubble(t, Backend{Registry: newRegistry(t, newGateIn(&g))}, nil, nil, func(t *testing.T, s *Server, c *client) {
		cancelled := `{"jsonrpc":"2.0","id":%s,"error":{"code":-32800,"message":"*"}}`
		for _, id := range []string{`7`, `"seven"`, `1.50`} {
			c.send(`{"jsonrpc":"2.0","method":"gate","id":` + id + `}`)
			g.waitStarted(t, 1)
			c.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":` + id + `}}`)
			c.expect(fmt.Sprintf(cancelled, id))
		}
		// Requests that share an id are all cancelled and all answered.
		c.send(`{"jsonrpc":"2.0","method":"gate","id":8}`)
		c.send(`[{"jsonrpc":"2.0","method":"gate","id":8}]`)
		g.waitStarted(t, 2)
		c.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":8}}`)
		for range 2 {
			if got, err := c.receive(hang); err != nil || !strings.Contains(got, "-32800") {
				t.Errorf("%q %v", got, err)
			}
		}
		// As a request it is answered; for an unknown id and with bad parameters it does nothing.
		c.call(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":99},"id":"c"}`, `{"jsonrpc":"2.0","result":null,"id":"c"}`)
		for _, params := range []string{`[]`, `{}`, `{"id":{}}`, `[7]`, `{"id":99,"id":98}`} {
			c.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":` + params + `}`)
			c.call(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":`+params+`,"id":"c"}`, refused(-32602, `"c"`))
		}
		// However a string is spelled, it is the same id.
		c.send(`{"jsonrpc":"2.0","method":"gate","id":"a"}`)
		g.waitStarted(t, 1)
		c.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"\u0061"}}`)
		c.expect(fmt.Sprintf(cancelled, `"a"`))
		c.call(`{"jsonrpc":"2.0","method":"echo","id":1}`, `{"jsonrpc":"2.0","result":null,"id":1}`)
	})
}

// newGateIn makes the gate inside a bubble, to which its channels must belong.
func newGateIn(g **gate) registry.Operation {
	return registry.Operation{Name: "gate", Timeout: time.Hour, Handler: func(ctx context.Context, c *registry.Call) (json.RawMessage, error) {
		(*g).started <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}}
}

// Another connection's call is not cancelled.
func TestCancelIsOfItsConnection(t *testing.T) {
	g := newGate()
	s := newServer(t, Backend{Registry: newRegistry(t, g.operation())}, nil)
	a, b := serve(t, s, nil, false), serve(t, s, nil, false)
	a.send(`{"jsonrpc":"2.0","method":"gate","id":1}`)
	g.waitStarted(t, 1)
	b.call(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1},"id":2}`, `{"jsonrpc":"2.0","result":null,"id":2}`)
	close(g.open)
	a.expect(`{"jsonrpc":"2.0","result":"opened","id":1}`)
}
