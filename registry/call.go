package registry

import (
	"context"
	"encoding/json"

	"github.com/cupule/cupule/effects"
)

// Progress is how far a call has come.
type Progress struct {
	Progress float64 `json:"progress"`
	// Total is the value that Progress is heading for; zero when unknown.
	Total   float64 `json:"total,omitempty"`
	Message string  `json:"message,omitempty"`
}

// Request is one call of an operation.
type Request struct {
	Operation string
	// Params is one JSON value, an object or an array; nil when the caller sent none.
	Params json.RawMessage
	// Invocation is whose call it is.
	Invocation effects.Invocation
	// Progress is called with the progress that the handler reports, from the handler's
	// goroutines; nil drops it.
	Progress func(Progress)
	// Peer describes where the call came from, for events, such as "pid 812 uid 1000".
	Peer string

	depth int // how many operations enclose this call
}

// Call is what a handler is given.
type Call struct {
	// Operation is the operation's name.
	Operation string
	// Params is the raw parameters, checked against the operation's schema; nil when the
	// caller sent none.
	Params json.RawMessage

	invocation effects.Invocation
	limit      Limit
	registry   *Registry
	progress   func(Progress)
	depth      int
	peer       string
	exact      bool // the schema left nothing in Params that a typed handler doesn't know
}

// Invocation returns on whose behalf the call runs, narrowed to the operation's own
// effects. Pass it to everything that is called from here.
func (c *Call) Invocation() effects.Invocation { return c.invocation }

// OutputLimit returns the limit that the call's result is held to: the smallest of
// those of operation, tool and caller.
func (c *Call) OutputLimit() Limit { return c.limit }

// Progress reports how far the call has come. It may be called from any goroutine.
func (c *Call) Progress(p Progress) {
	if c.progress != nil {
		c.progress(p)
	}
}

// WantsProgress reports whether anybody is told of this call's progress.
func (c *Call) WantsProgress() bool { return c.progress != nil }

// Invoke calls another operation with this call's invocation, and so within this
// operation's effects. Its progress is dropped.
func (c *Call) Invoke(ctx context.Context, operation string, params json.RawMessage) (json.RawMessage, error) {
	return c.registry.Invoke(ctx, Request{
		Operation: operation, Params: params, Invocation: c.invocation, depth: c.depth, Peer: c.peer,
	})
}
