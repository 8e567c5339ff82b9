package effects

import (
	"slices"
	"time"
)

// Authority is what a caller may do, as its operator decided. The zero Authority is online,
// with nothing authorized, no limits of its own and every operation open to it.
type Authority struct {
	// Principal is the caller's name in logs and errors. Empty means the process itself.
	Principal string
	// Origin is the way a call came in, such as "stdio", "unix", "http" or "cli".
	Origin string
	// Offline denies every call that reads from the network.
	Offline bool
	// Authorized holds the effects that the caller may have, of those that need authorization.
	Authorized Set
	// Operations are the operations that the caller may call itself; nil means all, empty
	// means none. What those operations call in turn is bounded by their effects alone.
	Operations []Pattern
	// Timeout bounds each of the caller's calls; zero means no bound of the caller's own.
	Timeout time.Duration
	// MaxOutput bounds each result, in bytes; zero means no bound of the caller's own.
	MaxOutput int64
}

// Invocation says on whose behalf a call runs. It is an immutable value: each method that
// changes something returns a narrower Invocation, and none returns a wider one. The zero
// Invocation is the process itself, online, with nothing authorized.
type Invocation struct {
	principal  string
	origin     string
	within     string // the innermost operation that the call runs in
	operations []Pattern
	timeout    time.Duration
	maxOutput  int64
	authorized Set
	outside    Set // what an enclosing operation did not declare
	offline    bool
}

// NewInvocation returns an invocation that holds this authority.
func NewInvocation(a Authority) Invocation {
	return Invocation{
		principal:  a.Principal,
		origin:     a.Origin,
		operations: slices.Clone(a.Operations),
		timeout:    max(a.Timeout, 0),
		maxOutput:  max(a.MaxOutput, 0),
		authorized: a.Authorized & everything,
		offline:    a.Offline,
	}
}

// Principal returns the caller's name; empty means the process itself.
func (i Invocation) Principal() string { return i.principal }

// Origin returns the way the call came in.
func (i Invocation) Origin() string { return i.origin }

// Offline reports whether reading from the network is denied.
func (i Invocation) Offline() bool { return i.offline }

// Authorized returns the effects that are authorized here, after every narrowing.
func (i Invocation) Authorized() Set { return i.authorized &^ i.outside }

// Operation returns the innermost operation that the call runs in, or "" at the entry.
func (i Invocation) Operation() string { return i.within }

// Timeout returns the caller's own bound on a call; zero means none.
func (i Invocation) Timeout() time.Duration { return i.timeout }

// MaxOutput returns the caller's own bound on a result in bytes; zero means none.
func (i Invocation) MaxOutput() int64 { return i.maxOutput }

// Within narrows the invocation to what an operation declared: whatever is called from
// inside it can have no other effect. The caller's own list of operations and its output
// limit bound what the caller asked for and gets back, so they end here.
func (i Invocation) Within(operation string, declared Set) Invocation {
	i.within = operation
	i.outside |= everything &^ declared
	i.operations = nil
	i.maxOutput = 0
	return i
}

// WithOffline returns the invocation with reading from the network denied.
func (i Invocation) WithOffline() Invocation {
	i.offline = true
	return i
}

// Without returns the invocation with the authority for these effects taken away.
func (i Invocation) Without(s Set) Invocation {
	i.authorized &^= s
	return i
}

// WithTimeout bounds each call by d too. Zero and negative values change nothing.
func (i Invocation) WithTimeout(d time.Duration) Invocation {
	if d > 0 && (i.timeout == 0 || d < i.timeout) {
		i.timeout = d
	}
	return i
}

// WithMaxOutput bounds each result by n bytes too. Zero and negative values change nothing.
func (i Invocation) WithMaxOutput(n int64) Invocation {
	if n > 0 && (i.maxOutput == 0 || n < i.maxOutput) {
		i.maxOutput = n
	}
	return i
}
