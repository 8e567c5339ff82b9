package registry

import "github.com/cupule/cupule/effects"

// Judgement is what the effects engine says of one subject that a call would reach.
type Judgement struct {
	Subject  effects.Subject
	Decision effects.Decision
}

// Explain returns the decisions that a call would meet, in the order in which they are
// made: on the operation, and for one that passes calls to a tool on that tool and on
// the transport to it. A call may run when all of them allow it. It calls nothing; it
// returns false for an operation that does not exist.
func (r *Registry) Explain(operation string, inv effects.Invocation) ([]Judgement, bool) {
	e, ok := r.entries[operation]
	if !ok {
		return nil, false
	}
	return e.judge(inv), true
}

// Allows reports whether a call of this operation on behalf of inv would be allowed.
func (r *Registry) Allows(operation string, inv effects.Invocation) bool {
	e, ok := r.entries[operation]
	return ok && e.denial(inv) == nil
}

// Limits returns the limits of an operation: the smaller of its own and its tool's.
func (r *Registry) Limits(operation string) (timeout, output Limit, ok bool) {
	e, ok := r.entries[operation]
	if !ok {
		return Limit{}, Limit{}, false
	}
	return *e.timeout.Limit, e.output, true
}

func (e *entry) judge(inv effects.Invocation) []Judgement {
	subject := e.Subject()
	list := []Judgement{{subject, effects.Decide(subject, inv)}}
	if e.Upstream == nil {
		return list
	}
	inside := inv.Within(e.Name, e.Effects)
	for _, s := range []effects.Subject{e.Upstream.Subject(), {Kind: e.Upstream.Transport, Name: e.Upstream.Server}} {
		list = append(list, Judgement{s, effects.Decide(s, inside)})
	}
	return list
}
