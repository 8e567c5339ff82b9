package registry

import (
	"context"
	"time"

	"github.com/cupule/cupule/effects"
)

// Event is one finished call, of an operation or of a tool, denied and unknown ones
// included. It holds no parameters, results or secrets.
type Event struct {
	// Subject is what was called. Its name is what the caller asked for.
	Subject effects.Subject
	// Invocation is on whose behalf.
	Invocation effects.Invocation
	// Peer describes where the call came from; empty when unknown.
	Peer string
	// Started is when the call was judged; Duration is how long it took.
	Started  time.Time
	Duration time.Duration
	// ParamsBytes and ResultBytes are sizes on the wire.
	ParamsBytes int
	ResultBytes int
	// IsError says that a tool answered with an error result.
	IsError bool
	// Err is why the call failed, or nil. Its Kind is the outcome.
	Err *Error
}

// Outcome returns "ok", or the kind of the error.
func (e Event) Outcome() string {
	if e.Err == nil {
		return "ok"
	}
	return string(e.Err.Kind)
}

// Observer is told of every finished call, once, on the goroutine of the call. It must
// return quickly and be safe for concurrent use.
type Observer interface {
	Observe(ctx context.Context, e Event)
}
