package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/registry"
)

// standIns returns handlers for the operations that need one written in Go, which this
// command does not have: everything about them can be shown, but not called.
func standIns(cfg *config.Config) map[string]registry.Handler {
	list := map[string]registry.Handler{}
	for name, op := range cfg.Operations {
		if op.Tool == "" {
			list[name] = refuse
		}
	}
	return list
}

func refuse(context.Context, *registry.Call) (json.RawMessage, error) {
	return nil, errors.New("the operation names no tool: only a Go program that binds a handler can run it")
}
