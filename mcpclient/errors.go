package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cupule/cupule/registry"
)

// The phases of a call.
const (
	phaseStart     = "start"
	phaseConnect   = "connect"
	phaseNegotiate = "negotiate"
	phaseList      = "list"
	phaseCall      = "call"
)

func failure(kind registry.Kind, ran registry.Ran, format string, args ...any) *registry.Error {
	return &registry.Error{Kind: kind, Ran: ran, Message: fmt.Sprintf(format, args...)}
}

// because returns e with the cause that logs need.
func because(e *registry.Error, cause error) *registry.Error {
	e.Err = cause
	return e
}

// limited returns e with the limit that was reached.
func limited(e *registry.Error, l registry.Limit) *registry.Error {
	e.Limit = &l
	return e
}

// asError returns err as the error that it is, or as an internal one.
func asError(err error) *registry.Error {
	var e *registry.Error
	if errors.As(err, &e) {
		return e
	}
	return because(failure(registry.KindInternal, registry.NotSent, "the call failed inside the client"), err)
}

// withTimeout bounds ctx by d, and leaves word whose limit that is.
func withTimeout(ctx context.Context, d time.Duration, name, whose string) (context.Context, context.CancelFunc) {
	limit := registry.Limit{Name: name, Whose: whose, Seconds: d.Seconds()}
	return context.WithTimeoutCause(ctx, d, &registry.Error{Kind: registry.KindTimeout, Limit: &limit})
}

// ended says why ctx ended: a time limit of ours or of the caller's, or the caller's
// cancellation, or the end of the client.
func ended(ctx context.Context, ran registry.Ran) *registry.Error {
	cause := context.Cause(ctx)
	var known *registry.Error
	switch {
	case errors.As(cause, &known) && known.Kind == registry.KindTimeout && known.Limit != nil:
		return limited(failure(registry.KindTimeout, ran, "there was no answer within the %s", known.Limit), *known.Limit)
	case errors.As(cause, &known):
		return interrupted(known, ran)
	case errors.Is(cause, context.DeadlineExceeded):
		limit := registry.Limit{Name: "deadline", Whose: "caller"}
		return limited(failure(registry.KindTimeout, ran, "there was no answer within the %s", limit), limit)
	case errors.Is(cause, context.Canceled):
		return failure(registry.KindCancelled, ran, "the call was cancelled")
	}
	return because(failure(registry.KindCancelled, ran, "the call was cancelled"), cause)
}

// interrupted is what becomes of a call whose conversation ends for the reason e. Nothing
// that was sent can be called unavailable: it may have run.
func interrupted(e *registry.Error, ran registry.Ran) *registry.Error {
	if e.Kind == registry.KindUnavailable && ran == registry.Sent {
		return failure(registry.KindOutcomeUnknown, ran, "%s before there was an answer", e.Message)
	}
	return failure(e.Kind, ran, "%s", e.Message)
}

var errClosed = &registry.Error{Kind: registry.KindUnavailable, Message: "the session has ended"}

var errShuttingDown = &registry.Error{Kind: registry.KindShuttingDown, Message: "the client is being closed"}
