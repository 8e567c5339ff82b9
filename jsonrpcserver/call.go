package jsonrpcserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
)

// Methods of the protocol's own, beside the operations.
const (
	methodDiscover     = "rpc.discover"
	methodAuthenticate = "rpc.authenticate"
	methodCancel       = "$/cancelRequest"
	methodProgress     = "$/progress"
)

// call is one request or notification that was judged well-formed.
type call struct {
	method  string
	id      []byte // nil in a notification
	params  json.RawMessage
	token   []byte // of progress; nil when none is wanted
	backend *backend
	inv     effects.Invocation
	peer    string
	pace    *pace // of the operation; nil where there is none of this name
}

// take makes c the call of a message whose bytes stay as they are for as long as it lives.
func (c *call) take(e *envelope, b *backend) {
	params, token := e.params, e.token
	if rest, inner := takeMeta(params); inner != nil {
		params = rest
		if token == nil {
			token = inner
		}
	}
	c.backend, c.id, c.params, c.token = b, slices.Clip(e.id), slices.Clip(params), slices.Clip(token)
	c.method, c.pace = b.method(e.method)
}

// takeCopy is take of a message in the read buffer: it copies what outlives that.
func (c *call) takeCopy(e *envelope, b *backend) {
	c.take(e, b)
	block := make([]byte, 0, len(c.id)+len(c.params)+len(c.token))
	block, c.id = keep(block, c.id)
	block, c.token = keep(block, c.token)
	_, c.params = keep(block, c.params)
}

// keep copies part to the end of block, and returns nil for nil.
func keep(block, part []byte) (longer, kept []byte) {
	if part == nil {
		return block, nil
	}
	n := len(block)
	block = append(block, part...)
	return block, block[n:len(block):len(block)]
}

// invoke runs a call to its end.
func (s *Server) invoke(ctx context.Context, c *call, progress func(registry.Progress)) (result json.RawMessage, failure *registry.Error) {
	defer func() {
		if p := recover(); p != nil {
			result, failure = nil, s.panicked(c, p)
		}
	}()
	if c.method == methodDiscover {
		return s.discover(c)
	}
	result, err := c.backend.Registry.Invoke(ctx, registry.Request{
		Operation: c.method, Params: c.params, Invocation: c.inv, Progress: progress, Peer: c.peer,
	})
	if err == nil {
		return result, nil
	}
	return nil, s.failed(ctx, c, err)
}

func (s *Server) panicked(c *call, p any) *registry.Error {
	s.opts.Logger.Error("a call panicked outside its handler", "operation", c.method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	return &registry.Error{Kind: registry.KindInternal, Operation: c.method, Message: "the service failed"}
}

// failed returns the error that the caller is told.
func (s *Server) failed(ctx context.Context, c *call, err error) *registry.Error {
	failure, ok := errors.AsType[*registry.Error](err)
	if !ok {
		failure = &registry.Error{Kind: registry.KindInternal, Operation: c.method, Message: "the operation failed inside the service", Err: err}
	}
	if failure.Kind == registry.KindCancelled && s.stopping() {
		failure = shuttingDown(c.method, failure.Ran)
	}
	s.opts.Logger.LogAttrs(ctx, slog.LevelDebug, "call failed", slog.String("operation", c.method), slog.String("error", failure.Error()))
	return failure
}
