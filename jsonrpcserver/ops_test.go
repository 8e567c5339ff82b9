package jsonrpcserver

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
)

// operations are those that the cases call.
func operations() []registry.Operation {
	constant := func(name, result string) registry.Operation {
		return registry.Operation{Name: name, Handler: func(context.Context, *registry.Call) (json.RawMessage, error) {
			return json.RawMessage(result), nil
		}}
	}
	type pair struct {
		Minuend    int `json:"minuend"`
		Subtrahend int `json:"subtrahend"`
	}
	list := []registry.Operation{
		constant("get_data", `["hello", 5]`), constant("update", "null"), constant("notify_hello", "null"),
		constant("notify_sum", "null"), constant("foobar2", "null"), constant("multiline", "{\n  \"a\": \"b c\"\n}"),
		{Name: "echo", Description: "Returns its parameters.", Handler: func(_ context.Context, c *registry.Call) (json.RawMessage, error) { return c.Params, nil }},
		{Name: "boom", Handler: func(context.Context, *registry.Call) (json.RawMessage, error) { panic("boom") }},
		{Name: "slow", Handler: func(ctx context.Context, c *registry.Call) (json.RawMessage, error) {
			select {
			case <-time.After(5 * time.Second):
				return json.RawMessage("null"), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}},
		{Name: "mutate", Effects: effects.NewSet(effects.Mutation), Handler: func(context.Context, *registry.Call) (json.RawMessage, error) {
			return json.RawMessage("true"), nil
		}},
		registry.Typed(registry.Operation{Name: "subtract"}, func(_ context.Context, _ *registry.Call, p pair) (int, error) {
			return p.Minuend - p.Subtrahend, nil
		}),
		registry.Typed(registry.Operation{Name: "sum"}, func(_ context.Context, _ *registry.Call, list []int) (int, error) {
			sum := 0
			for _, n := range list {
				sum += n
			}
			return sum, nil
		}),
		registry.Typed(registry.Operation{Name: "big", MaxOutput: 1000}, func(_ context.Context, _ *registry.Call, p struct {
			Bytes int `json:"bytes"`
		}) (string, error) {
			return strings.Repeat("x", p.Bytes), nil
		}),
	}
	for i := range list {
		list[i].Timeout = time.Second
	}
	return list
}

// newRegistry builds a registry of the cases' operations and more.
func newRegistry(t testing.TB, more ...registry.Operation) *registry.Registry {
	t.Helper()
	reg, err := registry.New(append(operations(), more...), nil)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

func newServer(t testing.TB, b Backend, opts *Options) *Server {
	t.Helper()
	if b.Registry == nil {
		b.Registry = newRegistry(t)
	}
	s, err := New(b, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	return s
}
