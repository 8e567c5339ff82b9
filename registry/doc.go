// Package registry holds what can be called, and calls it.
//
// An [Operation] has a name, JSON Schemas, effects, limits and a [Handler]. A [Registry]
// is an immutable set of them. [Registry.Invoke] is the one way to call an operation,
// whoever asks: a JSON-RPC peer, a batch, another operation, the command line or Go code.
//
//	type query struct {
//		Identifier string `json:"identifier"`
//	}
//	resolve := registry.Typed(registry.Operation{
//		Name:    "identifier.resolve",
//		Effects: effects.NewSet(effects.NetworkRead),
//		Timeout: 10 * time.Second,
//	}, func(ctx context.Context, call *registry.Call, q query) (string, error) {
//		return lookUp(ctx, q.Identifier)
//	})
//	r, err := registry.New([]registry.Operation{resolve}, nil)
//	...
//	result, err := r.Invoke(ctx, registry.Request{
//		Operation:  "identifier.resolve",
//		Params:     json.RawMessage(`{"identifier":"doi:10.1000/182"}`),
//		Invocation: effects.NewInvocation(effects.Authority{Principal: "me"}),
//	})
//
// # The path of a call
//
//	look up -> decide -> check parameters -> set deadline -> handler -> bound result -> event
//
// The decision comes before the parameters are looked at. An operation that passes calls
// to an MCP tool is decided three times before anything starts: as an operation, as that
// tool, and as the transport to it. The handler gets an invocation that is narrowed to
// the operation's own effects; whatever it calls is decided with that.
//
// Exactly one [Event] is recorded for each call, denied and unknown ones included.
//
// # Errors
//
// Every failure is an [*Error] with a [Kind]; [Kind.Code] is its JSON-RPC code. Message
// and names may be shown to a caller; the cause stays in logs. A handler may return a
// *jsonrpc2.Error with a code outside -32768..-32000, which travels unchanged, or an
// *Error of its own. Anything else, a panic included, is KindInternal.
//
// # Limits and concurrency
//
// A result is refused when it is larger than its limit, never cut. Deadlines nest: a call
// inside a call ends with the earlier of the two. Operations call each other at most
// [MaxNesting] deep. A Registry is safe for concurrent use; Invoke runs the handler on
// its caller's goroutine and starts none.
//
// The package builds for wasip1.
package registry
