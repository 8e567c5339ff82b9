package jsonrpcserver

import (
	"fmt"
	"time"

	"github.com/cupule/cupule/registry"
)

// RetryAfter is when a caller that was told of overload may try again.
const RetryAfter = 100 * time.Millisecond

func parseError(cause error) *registry.Error {
	return &registry.Error{Kind: registry.KindParseError, Message: "no valid JSON: " + cause.Error()}
}

func invalidRequest(reason string) *registry.Error {
	return &registry.Error{Kind: registry.KindInvalidRequest, Message: "no valid request: " + reason}
}

func tooLong(limit int) *registry.Error {
	return &registry.Error{
		Kind: registry.KindInvalidRequest, Message: fmt.Sprintf("the message is larger than %d bytes", limit),
		Limit: &registry.Limit{Name: "message", Bytes: int64(limit)},
	}
}

func batchTooLong(limit int) *registry.Error {
	return &registry.Error{
		Kind: registry.KindInvalidRequest, Message: fmt.Sprintf("the batch holds more than %d messages", limit),
		Limit: &registry.Limit{Name: "batch", Count: int64(limit)},
	}
}

func batchFull(operation string, limit int) *registry.Error {
	return &registry.Error{
		Kind: registry.KindOutputTooLarge, Operation: operation, Ran: registry.Completed,
		Message: fmt.Sprintf("the results of the batch are larger than %d bytes", limit),
		Limit:   &registry.Limit{Name: "batch_output", Whose: "server", Bytes: int64(limit)},
	}
}

func overloaded(operation, what string) *registry.Error {
	return &registry.Error{
		Kind: registry.KindOverloaded, Operation: operation, Message: "overloaded: " + what + "; try again later",
		Ran: registry.NotSent, RetryAfter: RetryAfter,
	}
}

// crowded refuses a message for which there is no memory, or which takes it for too long.
func crowded() *registry.Error {
	return overloaded("", "too many long messages are being sent at once, or this one too slowly")
}

func shuttingDown(operation string, ran registry.Ran) *registry.Error {
	return &registry.Error{Kind: registry.KindShuttingDown, Operation: operation, Message: "the service is shutting down", Ran: ran}
}

func unauthenticated(message string) *registry.Error {
	return &registry.Error{Kind: registry.KindUnauthenticated, Message: message}
}

// tooSlow is the answer to a peer that takes too long for a message or its token.
func tooSlow() *registry.Error {
	return &registry.Error{Kind: registry.KindTimeout, Message: "the message, or the token, took too long", Ran: registry.NotSent}
}
