package registry

import (
	"fmt"
	"strings"
	"time"

	"github.com/cupule/cupule/effects"
)

// Kind is what went wrong with a call. The zero Kind is no error.
type Kind string

// The kinds of error. Code gives each its JSON-RPC code.
const (
	KindParseError      Kind = "parse_error"
	KindInvalidRequest  Kind = "invalid_request"
	KindMethodNotFound  Kind = "method_not_found"
	KindInvalidParams   Kind = "invalid_params"
	KindInternal        Kind = "internal"
	KindDenied          Kind = "denied"
	KindUnauthenticated Kind = "unauthenticated"
	KindOverloaded      Kind = "overloaded"
	KindTimeout         Kind = "timeout"
	KindOutputTooLarge  Kind = "output_too_large"
	KindUnavailable     Kind = "unavailable"
	KindOutcomeUnknown  Kind = "outcome_unknown"
	KindUpstreamError   Kind = "upstream_error"
	KindToolMissing     Kind = "tool_missing"
	KindShuttingDown    Kind = "shutting_down"
	KindCancelled       Kind = "cancelled"
	KindApplication     Kind = "application"
)

var codes = map[Kind]int64{
	KindParseError:      -32700,
	KindInvalidRequest:  -32600,
	KindMethodNotFound:  -32601,
	KindInvalidParams:   -32602,
	KindInternal:        -32603,
	KindDenied:          -32001,
	KindUnauthenticated: -32002,
	KindOverloaded:      -32003,
	KindTimeout:         -32004,
	KindOutputTooLarge:  -32005,
	KindUnavailable:     -32006,
	KindOutcomeUnknown:  -32007,
	KindUpstreamError:   -32008,
	KindToolMissing:     -32009,
	KindShuttingDown:    -32010,
	KindCancelled:       -32800,
}

// Code returns the JSON-RPC error code of the kind. KindApplication has none of its own:
// its code is the handler's. That and an unknown kind give the code of KindInternal.
func (k Kind) Code() int64 {
	if code, ok := codes[k]; ok {
		return code
	}
	return codes[KindInternal]
}

// Ran says whether a tool may have run when a call to it failed.
type Ran string

// How far a call to a tool came.
const (
	// NotSent: the request never left this process, nothing ran.
	NotSent Ran = "not_sent"
	// Sent: the request left, no answer came: it may have run.
	Sent Ran = "sent"
	// Completed: the peer answered.
	Completed Ran = "completed"
)

// Limit is a limit that a call ran into.
type Limit struct {
	// Name is the configuration key or constant, such as "timeout" or "max_output".
	Name string `json:"name"`
	// Whose limit it was, such as "operation identifier.resolve", "tool library/search"
	// or "caller dashboard".
	Whose string `json:"whose,omitempty"`
	// Seconds is the limit where it is a time.
	Seconds float64 `json:"seconds,omitempty"`
	// Bytes is the limit where it is a size.
	Bytes int64 `json:"bytes,omitempty"`
	// Count is the limit where it is a number of things.
	Count int64 `json:"count,omitempty"`
}

// String returns the limit in words, such as "timeout 30s of tool library/search".
func (l Limit) String() string {
	var b strings.Builder
	b.WriteString(l.Name)
	switch {
	case l.Seconds != 0:
		fmt.Fprintf(&b, " %v", time.Duration(l.Seconds*float64(time.Second)))
	case l.Bytes != 0:
		fmt.Fprintf(&b, " %d bytes", l.Bytes)
	case l.Count != 0:
		fmt.Fprintf(&b, " %d", l.Count)
	}
	if l.Whose != "" {
		b.WriteString(" of " + l.Whose)
	}
	return b.String()
}

// ParamProblem is one thing that is wrong with the parameters of a call.
type ParamProblem struct {
	// Path is a JSON pointer into the parameters; "" is the whole.
	Path string `json:"path"`
	// Message says what is wanted there.
	Message string `json:"message"`
}

// Error is a failed call: of an operation, or of a tool on an MCP server. Everything
// but Err and Stderr may be shown to the caller.
type Error struct {
	Kind Kind
	// Message is one sentence for people, without internals, paths or secrets.
	Message string
	// Operation, Server and Tool name what was called; empty where they don't apply.
	// Tool is also the name of a resource or a prompt.
	Operation string
	Server    string
	Tool      string
	// Phase is how far a call to a server had come: "start", "connect", "negotiate",
	// "list", "call" or "close".
	Phase string
	// Limit is the limit that was reached, or nil.
	Limit *Limit
	// Ran says whether the tool may have run; empty where no tool is concerned.
	Ran Ran
	// Reasons say why a call was denied.
	Reasons []effects.Reason
	// Problems say what is wrong with the parameters.
	Problems []ParamProblem
	// RetryAfter is when an overloaded service may be tried again.
	RetryAfter time.Duration
	// Stderr is the tail of a child's standard error, masked and escaped. It is for logs.
	Stderr string
	// Err is the cause, for logs and errors.Is; it never reaches the wire.
	Err error
}

// Error returns the message and the cause.
func (e *Error) Error() string {
	text := e.Message
	if text == "" {
		text = string(e.Kind)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Stderr != "" {
		text += "; its standard error ends with: " + e.Stderr
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
