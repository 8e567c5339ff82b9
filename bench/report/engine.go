package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cupule/cupule/bench/internal/clients"
	"github.com/cupule/cupule/bench/internal/echo"
	"github.com/cupule/cupule/bench/internal/measure"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
)

// Rows of the engine's tables.
const (
	rowHandler    = "the handler alone"
	rowDecide     = "Decide, allowed"
	rowDenied     = "Decide, denied"
	rowInvoke     = "Invoke, no schema"
	rowSchema     = "Invoke, with a schema"
	rowTyped      = "Invoke, typed helper"
	rowTypedPlain = "the typed function, encoding/json both ways"
	rowTypedBare  = "the typed function, called directly"
)

const echoSchema = `{"type":"object","required":["text"],"additionalProperties":false,"properties":{"text":{"type":"string"}}}`

// enginePairs say what a call of the engine's stands beside. The empty handler is none of
// these: a ratio to nothing says nothing.
var enginePairs = map[string][]string{
	rowTyped: {rowTypedPlain, rowTypedBare},
}

func engineTables(l *lab) ([]table, error) {
	calls, err := l.engineCalls()
	if err != nil {
		return nil, err
	}
	grown, err := l.growthTable()
	return []table{calls, grown}, err
}

// counter counts events, as any observer would at the least.
type counter struct{ n int }

// Observe counts one call.
func (c *counter) Observe(context.Context, registry.Event) { c.n++ }

// pass is a handler that does nothing.
func pass(_ context.Context, call *registry.Call) (json.RawMessage, error) { return call.Params, nil }

func identity(_ context.Context, _ *registry.Call, p echo.Params) (echo.Params, error) { return p, nil }

// declared returns an operation with effects and limits.
func declared(name string) registry.Operation {
	return registry.Operation{Name: name, Description: "Echo.", Effects: effects.NewSet(effects.NetworkRead, effects.Mutation), Handler: pass}
}

func authority() effects.Invocation {
	return effects.NewInvocation(effects.Authority{
		Principal: "bench", Authorized: effects.NewSet(effects.Mutation), Operations: []effects.Pattern{"bench.*"},
	})
}

func (l *lab) engineCalls() (table, error) {
	t := table{ID: "engine", Title: titleEngine, Note: noteEngine, Pairs: enginePairs}
	params, err := json.Marshal(echo.Params{Text: echo.Text(clients.EchoSize)})
	if err != nil {
		return t, err
	}
	list, err := engineContestants(params)
	if err != nil {
		return t, err
	}
	load := measure.Load{Callers: 1}
	results, err := measure.Rounds(l.ctx, list, load, l.plan)
	t.Columns = []column{{Label: "time", Load: load, Metrics: []metric{allocations, allocated}, Results: results}}
	return t, err
}

func engineContestants(params json.RawMessage) ([]measure.Contestant, error) {
	schema := declared("bench.schema")
	schema.Params = json.RawMessage(echoSchema)
	bare := echo.Params{Text: echo.Text(clients.EchoSize)}
	r, err := registry.New([]registry.Operation{declared("bench.echo"), schema, registry.Typed(declared("bench.typed"), identity)},
		&registry.Options{Observer: &counter{}})
	return []measure.Contestant{
		deciding(rowDecide, authority(), true),
		deciding(rowDenied, effects.Invocation{}, false),
		measure.InProcess(rowHandler, 100, func() error { return handling(params, 100) }),
		invoking(rowInvoke, r, params, "bench.echo"),
		invoking(rowSchema, r, params, "bench.schema"),
		invoking(rowTyped, r, params, "bench.typed"),
		measure.InProcess(rowTypedPlain, 1, func() error { return typedPlain(params) }),
		measure.InProcess(rowTypedBare, 100, func() error { return typedBare(bare, 100) }),
	}, err
}

// deciding asks for the decision on an operation, a hundred times at once.
func deciding(name string, inv effects.Invocation, want bool) measure.Contestant {
	op := declared("bench.echo")
	subject := op.Subject()
	return measure.InProcess(name, 100, func() error {
		for range 100 {
			if effects.Decide(subject, inv).Allowed != want {
				return errors.New("the wrong decision")
			}
		}
		return nil
	})
}

func handling(params json.RawMessage, times int) error {
	handler, call := registry.Handler(pass), &registry.Call{Params: params}
	for range times {
		if result, err := handler(context.Background(), call); err != nil || len(result) != len(params) {
			return errors.Join(err, same(result, params))
		}
	}
	return nil
}

// invoking calls operations in turn.
func invoking(name string, r *registry.Registry, params json.RawMessage, operations ...string) measure.Contestant {
	req := registry.Request{Params: params, Invocation: authority()}
	next := 0
	return measure.InProcess(name, 1, func() error {
		req.Operation = operations[next]
		next = (next + 1) % len(operations)
		result, err := r.Invoke(context.Background(), req)
		if err != nil {
			return err
		}
		return same(result, params)
	})
}

// same compares without an allocation that would count.
func same(result, want []byte) error {
	if !bytes.Equal(result, want) {
		return fmt.Errorf("the wrong result %s", result)
	}
	return nil
}

// typedPlain is what a program does that has the function and needs no engine.
func typedPlain(params json.RawMessage) error {
	var p echo.Params
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	p, err := identity(context.Background(), nil, p)
	if err != nil {
		return err
	}
	result, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return same(result, params)
}

// typedBare calls the function as any Go code would, with a value that exists already.
func typedBare(want echo.Params, times int) error {
	f := identity
	for range times {
		if got, err := f(context.Background(), nil, want); err != nil || got != want {
			return errors.Join(err, errors.New("another value"))
		}
	}
	return nil
}
