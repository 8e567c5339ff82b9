package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/cupule/cupule/effects"
	"github.com/sourcegraph/jsonrpc2"
)

// classify turns what a handler returned into an *Error.
func classify(ctx context.Context, operation string, err error) *Error {
	if own, ok := errors.AsType[*Error](err); ok && own.Kind != "" {
		return adopt(operation, own, err)
	}
	if wire, ok := errors.AsType[*jsonrpc2.Error](err); ok && !reserved(wire.Code) {
		return &Error{Kind: KindApplication, Message: wire.Message, Operation: operation, Err: wire}
	}
	if ctx.Err() != nil {
		return ended(ctx, operation, Sent)
	}
	if err != nil {
		return internal(operation, err)
	}
	return nil
}

// adopt keeps the kind of an error that a nested call or the handler itself made, unless
// the kind speaks of a request that this operation's caller did not send.
func adopt(operation string, own *Error, whole error) *Error {
	nested := own.Operation != "" && own.Operation != operation
	switch own.Kind {
	case KindParseError, KindInvalidRequest, KindMethodNotFound, KindUnauthenticated:
		return internal(operation, whole)
	case KindInvalidParams:
		if nested {
			return internal(operation, whole)
		}
	}
	adopted := *own
	if adopted.Operation == "" {
		adopted.Operation = operation
	}
	if whole != error(own) {
		adopted.Err = whole
	}
	return &adopted
}

// boundFailure holds an error that a handler wrote itself to the limit of its result.
func boundFailure(failure *Error, limit Limit) *Error {
	wire, ok := errors.AsType[*jsonrpc2.Error](failure.Err)
	if !ok || failure.Kind != KindApplication {
		return failure
	}
	size := len(wire.Message)
	if wire.Data != nil {
		size += len(*wire.Data)
	}
	if int64(size) > limit.Bytes {
		return tooLarge(failure.Operation, limit)
	}
	return failure
}

func reserved(code int64) bool { return code >= -32768 && code <= -32000 }

// ended says why a call's context ended: a deadline of ours, or the caller's wish.
func ended(ctx context.Context, operation string, ran Ran) *Error {
	cause := context.Cause(ctx)
	if limit, ok := errors.AsType[*Error](cause); ok {
		e := *limit
		e.Operation, e.Ran = operation, ran
		return &e
	}
	if errors.Is(cause, context.DeadlineExceeded) {
		return &Error{Kind: KindTimeout, Message: "the caller's deadline passed", Operation: operation, Ran: ran,
			Limit: &Limit{Name: "deadline", Whose: "caller"}, Err: cause}
	}
	return &Error{Kind: KindCancelled, Message: "the call was cancelled", Operation: operation, Ran: ran, Err: cause}
}

func unknown(operation string) *Error {
	return &Error{Kind: KindMethodNotFound, Message: "there is no such operation", Operation: clip(operation)}
}

func denied(operation string, reasons []effects.Reason) *Error {
	return &Error{
		Kind: KindDenied, Operation: operation, Reasons: reasons, Ran: NotSent,
		Message: "denied: " + reasons[0].String(),
	}
}

func internal(operation string, cause error) *Error {
	return &Error{Kind: KindInternal, Message: "the operation failed inside the service", Operation: operation, Err: cause}
}

func tooDeep(operation string) *Error {
	return internal(operation, fmt.Errorf("operations call each other more than %d deep", MaxNesting))
}

func timedOut(operation string, limit Limit) *Error {
	return &Error{Kind: KindTimeout, Message: "the call took longer than " + limit.String(), Operation: operation, Limit: &limit}
}

func tooLarge(operation string, limit Limit) *Error {
	return &Error{
		Kind: KindOutputTooLarge, Message: "the result is larger than " + limit.String(),
		Operation: operation, Limit: &limit, Ran: Completed,
	}
}
