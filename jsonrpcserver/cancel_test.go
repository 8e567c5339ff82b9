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
		// And so with a number.
		c.send(`{"jsonrpc":"2.0","method":"gate","id":1.0}`)
		g.waitStarted(t, 1)
		c.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`)
		c.expect(fmt.Sprintf(cancelled, `1.0`))
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

// TestSameID compares ids by what they mean, as far as that costs little.
func TestSameID(t *testing.T) {
	long := strings.Repeat("1", maxNumber)
	for _, row := range []struct {
		a, b string
		want bool
	}{
		{`1`, `1`, true}, {`1`, `1.0`, true}, {`1`, `1.00e0`, true}, {`1`, `10e-1`, true}, {`1`, `0.1E+1`, true},
		{`100`, `1e2`, true}, {`120`, `1.2E2`, true}, {`0.5`, `5e-1`, true}, {`0`, `-0`, true}, {`0`, `0.0e5`, true},
		{`-1`, `-1.0`, true}, {`-1`, `1`, false}, {`1`, `2`, false}, {`1`, `10`, false}, {`0.1`, `1`, false},
		{`9007199254740993`, `9007199254740992`, false}, {`9007199254740993`, `9007199254740993.0`, true},
		{`1e400`, `10e399`, true}, {`1e400`, `1e401`, false}, {`1e999999999`, `1e999999999`, true},
		{`1e99999999999999999999`, `1e99999999999999999999`, true}, {`1e99999999999999999999`, `10e99999999999999999998`, false},
		{`1e-99999999`, `0.1e-99999998`, true}, {`0e999999999999`, `0`, false},
		{long, long, true}, {long, long + ".0", false},
		{`1`, `"1"`, false}, {`"1"`, `1`, false}, {`"a"`, `"\u0061"`, true}, {`"a"`, `"b"`, false}, {`""`, `null`, false}, {`null`, `null`, true}, {`0`, `null`, false},
	} {
		if sameID([]byte(row.a), []byte(row.b)) != row.want || sameID([]byte(row.b), []byte(row.a)) != row.want {
			t.Errorf("%s and %s: not %v", row.a, row.b, row.want)
		}
	}
}
