package mcpclient

import (
	"context"
	"encoding/json"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
)

// anyObject is the schema of an operation that states none.
var anyObject = json.RawMessage(`{"type":"object"}`)

// Proxy makes an operation from a tool: its handler passes the parameters on as the tool's
// arguments and returns the tool's result byte for byte, isError included.
//
// What op states is kept. Without effects of its own, op has the tool's; stated ones must cover
// the tool's, which registry.New checks. Without a schema, its parameters are any object. The
// limits of both apply. Where no such tool is configured, op gets no handler, and registry.New
// reports it.
func (c *Client) Proxy(op registry.Operation, server, tool string) registry.Operation {
	op.Upstream = &registry.Upstream{Server: server, Tool: tool}
	op.Handler = nil
	if op.Params == nil {
		op.Params = anyObject
	}
	s := c.servers[server]
	if s == nil {
		return op
	}
	rule := s.rule(effects.Tool, tool)
	if rule == nil {
		return op
	}
	op.Upstream.Effects, op.Upstream.Declared = rule.Effects, rule.Declared
	op.Upstream.Timeout, op.Upstream.MaxOutput = rule.Timeout, rule.MaxOutput
	op.Upstream.Transport = s.Transport()
	if op.Effects == 0 {
		op.Effects, op.Declared = rule.Effects, rule.Declared
	}
	op.Handler = c.pass(server, tool)
	return op
}

// pass returns the handler of a proxy.
func (c *Client) pass(server, tool string) registry.Handler {
	return func(ctx context.Context, call *registry.Call) (json.RawMessage, error) {
		limit := call.OutputLimit()
		t := ToolCall{Server: server, Tool: tool, Args: call.Params, Invocation: call.Invocation(), output: &limit}
		if call.WantsProgress() {
			t.Progress = call.Progress
		}
		r, err := c.Call(ctx, t)
		if err != nil {
			return nil, err
		}
		return r.Raw, nil
	}
}
