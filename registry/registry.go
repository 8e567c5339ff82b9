package registry

import (
	"context"
	"encoding/json"
)

// Registry is an immutable set of operations.
type Registry struct{}

// Options are optional settings of a Registry; nil and zero fields mean defaults.
type Options struct {
	// Observer is told of every finished call; nil for none.
	Observer Observer
}

// New builds a registry, or reports every problem at once.
func New(operations []Operation, opts *Options) (*Registry, error) { return nil, nil }

// Invoke runs one call. The error, if any, is an *Error.
func (r *Registry) Invoke(ctx context.Context, req Request) (json.RawMessage, error) { return nil, nil }

// Lookup returns the operation of this name.
func (r *Registry) Lookup(name string) (*Operation, bool) { return nil, false }

// Operations returns every operation, ordered by name.
func (r *Registry) Operations() []*Operation { return nil }
