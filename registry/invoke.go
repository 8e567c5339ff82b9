package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/internal/strictjson"
)

// MaxNesting bounds how deep operations may call each other.
const MaxNesting = 32

// Invoke runs one call: look up, decide, check the parameters, set the deadline, call,
// bound the result, and record one event. Every error is an *Error.
func (r *Registry) Invoke(ctx context.Context, req Request) (json.RawMessage, error) {
	started := time.Now()
	subject := effects.Subject{Kind: effects.Operation, Name: clip(req.Operation)}
	e, ok := r.entries[req.Operation]
	if !ok {
		return nil, r.record(ctx, &req, subject, started, nil, unknown(req.Operation))
	}
	subject = e.Subject()
	if reasons := e.denial(req.Invocation); reasons != nil {
		return nil, r.record(ctx, &req, subject, started, nil, denied(e.Name, reasons))
	}
	params, err := e.checkParams(req.Params)
	if err == nil && req.depth >= MaxNesting {
		err = tooDeep(e.Name)
	}
	if err != nil {
		return nil, r.record(ctx, &req, subject, started, nil, err)
	}
	call := e.newCall(r, &req, params)
	limited := e.deadline(ctx, req.Invocation, started)
	defer limited.end()
	result, failure := e.run(limited, call)
	if failure == nil {
		result, failure = e.checkResult(result, call.limit)
	} else {
		failure = boundFailure(failure, call.limit)
	}
	if err := r.record(ctx, &req, subject, started, result, failure); err != nil {
		return nil, err
	}
	return result, nil
}

// denial returns the reasons of the first subject that the caller may not reach, or nil.
func (e *entry) denial(inv effects.Invocation) []effects.Reason {
	if d := effects.Decide(e.Subject(), inv); !d.Allowed {
		return d.Reasons
	}
	if e.Upstream == nil {
		return nil
	}
	for _, j := range e.judge(inv)[1:] {
		if !j.Decision.Allowed {
			return j.Decision.Reasons
		}
	}
	return nil
}

func (e *entry) newCall(r *Registry, req *Request, params json.RawMessage) *Call {
	limit := e.output
	if n := req.Invocation.MaxOutput(); n > 0 && n < limit.Bytes {
		limit = Limit{Name: "max_output", Whose: callerName(req.Invocation), Bytes: n}
	}
	return &Call{
		Operation: e.Name, Params: params, registry: r, limit: limit, progress: req.Progress,
		invocation: req.Invocation.Within(e.Name, e.Effects), depth: req.depth + 1, peer: req.Peer, exact: e.exact,
	}
}

// deadline bounds ctx by the smallest timeout; an earlier deadline of ctx itself stays.
func (e *entry) deadline(ctx context.Context, inv effects.Invocation, started time.Time) *deadline {
	wait, cause := e.wait, e.timeout
	if t := inv.Timeout(); t > 0 && t < wait {
		wait = t
		cause = timedOut(e.Name, Limit{Name: "timeout", Whose: callerName(inv), Seconds: t.Seconds()})
	}
	return &deadline{Context: ctx, at: started.Add(wait), cause: cause}
}

// run calls the handler and turns a panic into an error.
func (e *entry) run(ctx context.Context, call *Call) (result json.RawMessage, failure *Error) {
	defer func() {
		if p := recover(); p != nil {
			result, failure = nil, internal(e.Name, fmt.Errorf("handler panicked: %v\n%s", p, debug.Stack()))
		}
	}()
	if ctx.Err() != nil {
		return nil, ended(ctx, e.Name, NotSent)
	}
	result, err := e.Handler(ctx, call)
	return result, classify(ctx, e.Name, err)
}

// checkResult holds the handler to one JSON value within the limit.
func (e *entry) checkResult(result json.RawMessage, limit Limit) (json.RawMessage, *Error) {
	if result == nil {
		result = json.RawMessage("null")
	}
	if int64(len(result)) > limit.Bytes {
		return nil, tooLarge(e.Name, limit)
	}
	// A tool's result was checked where it was read.
	if e.Upstream == nil {
		if err := strictjson.Valid(result, strictjson.MaxDepth); err != nil {
			return nil, internal(e.Name, fmt.Errorf("handler returned invalid JSON: %w", err))
		}
	}
	return result, nil
}

func callerName(inv effects.Invocation) string {
	if inv.Principal() == "" {
		return "caller"
	}
	return "caller " + inv.Principal()
}

// record tells the observer, and returns failure as a plain error.
func (r *Registry) record(ctx context.Context, req *Request, s effects.Subject, started time.Time, result json.RawMessage, failure *Error) error {
	if r.observer != nil {
		r.observer.Observe(ctx, Event{
			Subject: s, Invocation: req.Invocation, Peer: req.Peer, Started: started, Duration: time.Since(started),
			ParamsBytes: len(req.Params), ResultBytes: len(result), Err: failure,
		})
	}
	if failure != nil {
		return failure
	}
	return nil
}
