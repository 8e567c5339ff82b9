package main

import (
	"errors"
	"fmt"

	"github.com/cupule/cupule"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
	"github.com/spf13/cobra"
)

// setting is an assembled application with the authority that the flags give.
type setting struct {
	app        *cupule.App
	invocation effects.Invocation
}

// withApp assembles the application for the time of one command.
func (c *cli) withApp(cmd *cobra.Command, use func(*setting) error) (err error) {
	app, err := c.open(cmd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.Close()) }()
	inv, err := c.authority(app.Config())
	if err != nil {
		return err
	}
	return use(&setting{app, inv})
}

func (s *setting) unknownOperation(name string) error {
	return &registry.Error{Kind: registry.KindMethodNotFound, Operation: name,
		Message: fmt.Sprintf("there is no operation %q: cupule ops lists them", name)}
}

// position returns where a subject stands in the configuration.
func (s *setting) position(operation string, subject effects.Subject) effects.Position {
	cfg := s.app.Config()
	op, ok := s.app.Registry().Lookup(operation)
	if !ok || subject.Kind == effects.Operation || op.Upstream == nil {
		if ok {
			return op.At
		}
		return effects.Position{}
	}
	server := cfg.MCP[op.Upstream.Server]
	if server == nil {
		return effects.Position{}
	}
	if rule := server.Allowed[op.Upstream.Tool]; rule != nil && subject.Kind == effects.Tool {
		return rule.At
	}
	return server.At
}
