package cupule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/mcpclient"
	"github.com/cupule/cupule/registry"
)

// generation is what one configuration was assembled into. It ends when it is retired
// and its last running call has returned.
type generation struct {
	config   *config.Config
	client   *mcpclient.Client
	registry *registry.Registry

	mu      sync.Mutex // guards what follows
	running int
	retired bool
	idle    chan struct{} // closed when retired with nothing running
}

// assemble builds everything that a configuration asks for, starting nothing.
func (a *App) assemble(cfg *config.Config) (*generation, error) {
	client, err := mcpclient.New(cfg, &mcpclient.Options{
		Name: a.opts.Name, Version: a.opts.Version, LookupEnv: a.opts.LookupEnv,
		Logger: a.opts.Logger, Observer: a.opts.Observer,
	})
	if err != nil {
		return nil, err
	}
	g := &generation{config: cfg, client: client, idle: make(chan struct{})}
	g.registry, err = a.register(g)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return g, nil
}

// register makes a registry of the operations of the file and those written in Go.
func (a *App) register(g *generation) (*registry.Registry, error) {
	var list []registry.Operation
	for _, name := range slices.Sorted(maps.Keys(g.config.Operations)) {
		list = append(list, g.declared(g.config.Operations[name]))
	}
	if a.opts.Operations != nil {
		native, err := a.opts.Operations(g.client)
		if err != nil {
			return nil, fmt.Errorf("operations written in Go: %w", err)
		}
		list = append(list, native...)
	}
	for i := range list {
		list[i].Handler = g.counted(list[i].Handler)
	}
	handlers := make(map[string]registry.Handler, len(a.opts.Handlers))
	for name, handler := range a.opts.Handlers {
		handlers[name] = g.counted(handler)
	}
	return registry.New(list, &registry.Options{Observer: a.opts.Observer, Handlers: handlers})
}

// declared makes an operation of what the file declares.
func (g *generation) declared(op *config.Operation) registry.Operation {
	made := registry.Operation{
		Name: op.Name, Description: op.Description, Params: op.Params, Result: op.Result,
		Effects: op.Effects, Declared: op.Declared, Timeout: op.Timeout, MaxOutput: op.MaxOutput, At: op.At,
		ParamsAt: op.ParamsAt, ResultAt: op.ResultAt,
	}
	if op.Tool != "" {
		return g.client.Proxy(made, op.Server, op.Tool)
	}
	return made
}

// counted makes a handler part of what retire waits for.
func (g *generation) counted(handler registry.Handler) registry.Handler {
	if handler == nil {
		return nil
	}
	return func(ctx context.Context, call *registry.Call) (json.RawMessage, error) {
		if !g.enter() {
			return nil, &registry.Error{Kind: registry.KindShuttingDown, Message: "the service has replaced its configuration or is closing"}
		}
		defer g.leave()
		return handler(ctx, call)
	}
}

// enter begins a call. A retired generation takes calls only while one is running, since
// that one may need them to finish.
func (g *generation) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.retired && g.running == 0 {
		return false
	}
	g.running++
	return true
}

func (g *generation) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	if g.retired && g.running == 0 {
		close(g.idle)
	}
}

// retire waits for the running calls, each of which has its own deadline, or until ctx
// ends, and closes the client, which ends the calls that are left.
func (g *generation) retire(ctx context.Context) error {
	g.mu.Lock()
	if !g.retired {
		g.retired = true
		if g.running == 0 {
			close(g.idle)
		}
	}
	g.mu.Unlock()
	var err error
	select {
	case <-g.idle:
	case <-ctx.Done():
		err = errors.New("calls were still running when their time to finish was over")
	}
	return errors.Join(err, g.client.Close())
}
