package jsonrpcserver

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
)

// Names of the callers that need no token.
const (
	// LocalCaller is who calls on stdio and on a unix socket.
	LocalCaller = "local"
	// AnonymousCaller is who calls without a token where a listener allows that.
	AnonymousCaller = "anonymous"
)

// Backend is what a server serves, and to whom. It is not changed after it was given away.
type Backend struct {
	Registry *registry.Registry
	// Callers are those with authority of their own. Where none is named LocalCaller or
	// AnonymousCaller, these hold no authority: they may call what needs none.
	Callers []Caller
}

// Caller is one party that may call.
type Caller struct {
	Name string
	// Token returns the caller's token. It is called whenever a token is checked, so that
	// tokens can rotate. Nil means that the caller has none.
	Token func() (token string, ok bool)
	// Authority is what the caller may do. Its Principal and Origin are filled in.
	Authority effects.Authority
}

// digest returns the digest of the caller's token, if it has one.
func (c *Caller) digest() (sum [sha256.Size]byte, ok bool) {
	if c.Token == nil {
		return sum, false
	}
	token, ok := c.Token()
	if !ok || token == "" {
		return sum, false
	}
	return sha256.Sum256([]byte(token)), true
}

// Check reports callers without name, twice of one name, whose token is missing or empty,
// and such that share a token: none of those can be authenticated.
func (b Backend) Check() error {
	if b.Registry == nil {
		return errors.New("the backend has no registry")
	}
	var problems []error
	names := map[string]bool{}
	tokens := map[[sha256.Size]byte]string{}
	for i := range b.Callers {
		c := &b.Callers[i]
		if c.Name == "" || names[c.Name] {
			problems = append(problems, fmt.Errorf("caller %q: each caller needs a name of its own", c.Name))
		}
		names[c.Name] = true
		sum, ok := c.digest()
		switch {
		case c.Token == nil:
		case !ok:
			problems = append(problems, fmt.Errorf("caller %s: its token is missing or empty", c.Name))
		case tokens[sum] != "":
			problems = append(problems, fmt.Errorf("caller %s: its token is that of caller %s too", c.Name, tokens[sum]))
		default:
			tokens[sum] = c.Name
		}
	}
	return errors.Join(problems...)
}

// backend is a Backend in use.
type backend struct {
	Backend
	known  map[string]known // operations by name
	uses   atomic.Int64     // calls that run on it, and one while it is current
	unused chan struct{}    // closed when uses reaches zero
}

// known is what a server knows of an operation: its name, so that names in requests
// aren't copied, and how quick it is.
type known struct {
	name string
	pace *pace
}

func newBackend(b Backend) *backend {
	made := &backend{Backend: b, known: map[string]known{}, unused: make(chan struct{})}
	for _, op := range b.Registry.Operations() {
		made.known[op.Name] = known{op.Name, newPace()}
	}
	made.uses.Store(1)
	return made
}

// enter begins a use; it fails on a backend that is no longer used.
func (b *backend) enter() bool {
	for {
		n := b.uses.Load()
		if n == 0 {
			return false
		}
		if b.uses.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (b *backend) leave() {
	if b.uses.Add(-1) == 0 {
		close(b.unused)
	}
}

// method returns the name as a string, and the pace of the operation if there is one.
func (b *backend) method(name []byte) (string, *pace) {
	if k, ok := b.known[string(name)]; ok {
		return k.name, k.pace
	}
	return string(name), nil
}

// caller returns the caller of this name, or nil.
func (b *backend) caller(name string) *Caller {
	for i := range b.Callers {
		if b.Callers[i].Name == name {
			return &b.Callers[i]
		}
	}
	return nil
}

// authenticate returns the one caller whose token this is, or nil: an empty token and one
// that callers share are nobody's. It takes the same time whoever it is.
func (b *backend) authenticate(token string) *Caller {
	if token == "" {
		return nil
	}
	return b.holder(sha256.Sum256([]byte(token)))
}

// holder returns the one caller whose token has this sum, or nil.
func (b *backend) holder(given [sha256.Size]byte) *Caller {
	var found *Caller
	matches := 0
	for i := range b.Callers {
		sum, ok := b.Callers[i].digest()
		if subtle.ConstantTimeCompare(sum[:], given[:]) == 1 && ok {
			found = &b.Callers[i]
			matches++
		}
	}
	if matches != 1 {
		return nil
	}
	return found
}

// hasTokens reports whether any caller can authenticate.
func (b *backend) hasTokens() bool {
	for i := range b.Callers {
		if _, ok := b.Callers[i].digest(); ok {
			return true
		}
	}
	return false
}

// Swap replaces what is served. Calls that run keep the backend that they began with;
// wait returns when the last of those has ended, or ctx. Open connections keep their
// caller if the new backend has one of that name, and with the same token where they
// gave one; others must authenticate again.
func (s *Server) Swap(b Backend) (wait func(ctx context.Context) error, err error) {
	if b.Registry == nil {
		return nil, errors.New("the backend has no registry")
	}
	old := s.current.Swap(newBackend(b))
	old.leave()
	return func(ctx context.Context) error {
		select {
		case <-old.unused:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, nil
}

// acquire returns the current backend; the caller leaves it.
func (s *Server) acquire() *backend {
	for {
		if b := s.current.Load(); b.enter() {
			return b
		}
	}
}
