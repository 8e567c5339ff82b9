package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cupule/cupule/effects"
)

// Registry is an immutable set of operations, safe for concurrent use.
type Registry struct {
	entries  map[string]*entry
	sorted   []*Operation
	observer Observer
}

// Options are optional settings of a Registry. Nil and zero fields mean defaults.
type Options struct {
	// Observer is told of every finished call; nil for none.
	Observer Observer
	// Handlers binds handlers by name to those operations that have none yet. A name
	// without such an operation is a problem.
	Handlers map[string]Handler
}

// Problem is one thing that keeps a registry from being built.
type Problem struct {
	Operation string
	// Key is the part of the operation that is wrong, "params" or "result"; "" for others.
	Key string
	// At is where the operation or its key stands in the configuration; zero when unknown.
	At      effects.Position
	Message string
}

// String returns the problem with its position where that is known.
func (p Problem) String() string {
	text := fmt.Sprintf("operation %q: %s", p.Operation, p.Message)
	if p.Key != "" {
		text = fmt.Sprintf("operation %q, %s: %s", p.Operation, p.Key, p.Message)
	}
	if at := p.At.String(); at != "" {
		text = at + ": " + text
	}
	return text
}

// BuildError holds every problem that New found, in the order of the operations.
type BuildError struct{ Problems []Problem }

// Error returns one line for each problem.
func (e *BuildError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// New builds a registry, or returns a *BuildError with every problem at once.
func New(operations []Operation, opts *Options) (*Registry, error) {
	if opts == nil {
		opts = &Options{}
	}
	b := builder{handlers: maps.Clone(opts.Handlers), entries: make(map[string]*entry, len(operations))}
	for i := range operations {
		b.add(operations[i])
	}
	for _, name := range slices.Sorted(maps.Keys(b.handlers)) {
		b.unusedHandler(name)
	}
	if len(b.problems) > 0 {
		return nil, &BuildError{Problems: b.problems}
	}
	return &Registry{entries: b.entries, sorted: b.sorted(), observer: opts.Observer}, nil
}

// Lookup returns the operation of this name. It must not be changed.
func (r *Registry) Lookup(name string) (*Operation, bool) {
	e, ok := r.entries[name]
	if !ok {
		return nil, false
	}
	return &e.Operation, true
}

// Operations returns every operation, ordered by name. They must not be changed.
func (r *Registry) Operations() []*Operation { return slices.Clone(r.sorted) }
