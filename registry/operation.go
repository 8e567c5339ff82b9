package registry

import (
	"context"
	"encoding/json"
	"time"

	"github.com/cupule/cupule/effects"
)

// Limits that hold where an operation or a tool states none, and the largest that one may state.
const (
	DefaultTimeout   = 30 * time.Second
	MaxTimeout       = time.Hour
	DefaultMaxOutput = 256_000  // bytes
	LargestMaxOutput = 64 << 20 // bytes
)

// Handler runs an operation. It returns one JSON value, or an error: a *jsonrpc2.Error
// with a code outside -32768..-32000 reaches the caller unchanged, an *Error keeps its
// kind, and any other error becomes an internal error whose text stays in the log.
// A handler must return soon after its context ends.
type Handler func(ctx context.Context, call *Call) (json.RawMessage, error)

// Operation is one thing that can be called by name.
type Operation struct {
	// Name is dotted words, at most 128 bytes, such as "identifier.resolve".
	Name string
	// Description says in a sentence what the operation does.
	Description string
	// Params is the JSON Schema (2020-12) of the parameters; nil accepts any object, array or none.
	Params json.RawMessage
	// Result is the JSON Schema of the result, for the catalog; nil says nothing about it.
	Result json.RawMessage
	// Effects are what a call may do, and the most that anything it calls may do.
	Effects effects.Set
	// Timeout bounds a call; zero means DefaultTimeout, at most MaxTimeout.
	Timeout time.Duration
	// MaxOutput bounds the result in bytes; zero means DefaultMaxOutput, at most LargestMaxOutput.
	MaxOutput int64
	// Handler runs the operation.
	Handler Handler
	// Upstream names the MCP tool that the operation passes calls to; nil for any other.
	// The tool's limits then bound the operation too.
	Upstream *Upstream
	// Declared tells where the effects stand in the configuration; nil when unknown.
	Declared *effects.Positions
	// At is where the operation stands in the configuration; zero when unknown.
	At effects.Position
	// ParamsAt and ResultAt are where the schemas stand in the configuration; zero when unknown.
	ParamsAt effects.Position
	ResultAt effects.Position

	typed      bool            // parameters go into a Go type
	exact      json.RawMessage // the schema that refuses what this type doesn't know; nil for none
	positional []string        // parameter names in the order of positional parameters
	problem    error           // found while the operation was made, reported by New
}

// Upstream is the MCP tool behind an operation, with what its operator declared for it.
type Upstream struct {
	Server string
	Tool   string
	// Effects are the tool's; the operation's own must cover them.
	Effects  effects.Set
	Declared *effects.Positions
	// Timeout and MaxOutput are the tool's limits.
	Timeout   time.Duration
	MaxOutput int64
	// Transport is effects.Stdio or effects.StreamableHTTP.
	Transport effects.Kind
}

// Subject returns the operation as the effects engine sees it.
func (o *Operation) Subject() effects.Subject {
	return effects.Subject{Kind: effects.Operation, Name: o.Name, Effects: o.Effects, Declared: o.Declared}
}

// Subject returns the tool as the effects engine sees it.
func (u *Upstream) Subject() effects.Subject {
	return effects.Subject{Kind: effects.Tool, Name: u.Server + "/" + u.Tool, Effects: u.Effects, Declared: u.Declared}
}
