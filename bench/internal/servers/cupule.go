package servers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cupule/cupule"
	"github.com/cupule/cupule/bench/internal/clients"
	"github.com/cupule/cupule/bench/internal/echo"
	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/mcpclient"
	"github.com/cupule/cupule/registry"
)

const (
	maxOutput       = 4 << 20
	operationOfTool = "tool.echo"
	startLimit      = 10 * time.Second
)

// callers give the peers an authority that the operations need, and bounds of their own.
const callers = `callers:
  local: {authorize: [mutation], operations: [bench.*, tool.*], timeout: 20, max_output: 4MiB}
  anonymous: {authorize: [mutation], operations: [bench.*, tool.*], timeout: 20, max_output: 4MiB}
`

func unixListener(address string) string { return "unix:" + address }

func httpListener(address string) string {
	return fmt.Sprintf("{address: 'http://%s/rpc', anonymous: true}", address)
}

// events counts the events of calls, as any observer would at the least.
type events struct{ calls, failed atomic.Int64 }

// Observe counts one call.
func (e *events) Observe(_ context.Context, event registry.Event) {
	e.calls.Add(1)
	if event.Err != nil {
		e.failed.Add(1)
	}
}

// serveCupule serves two operations with everything on: callers with authority and limits,
// effects to decide on, deadlines, and an event for each call.
func serveCupule(listener func(string) string) func(Place) (func() error, error) {
	return func(at Place) (func() error, error) {
		text := callers + "serve:\n  listen:\n    - " + listener(at.Address) + "\n"
		return serveApp(at, text, &cupule.Options{Operations: operations})
	}
}

func operations(*mcpclient.Client) ([]registry.Operation, error) {
	declared := registry.Operation{
		Name: methodByName, Description: "Echo a text.", Effects: effects.NewSet(effects.NetworkRead, effects.Mutation),
		Timeout: 10 * time.Second, MaxOutput: maxOutput,
	}
	plain, typed := declared, declared
	plain.Handler = func(_ context.Context, call *registry.Call) (json.RawMessage, error) { return echoJSON(call.Params) }
	typed.Name = methodOfTyped
	typed = registry.Typed(typed, func(_ context.Context, _ *registry.Call, p echo.Params) (echo.Params, error) { return p, nil })
	return []registry.Operation{plain, typed}, nil
}

// serveGateway serves the tool of an MCP child that a configuration declares.
func serveGateway(configuration func(clients.Target) string) func(Place) (func() error, error) {
	return func(at Place) (func() error, error) {
		text := configuration(clients.Target{Child: at.Child}) +
			"operations:\n  " + operationOfTool + ": {description: Echo a text., tool: bench/echo}\n" +
			callers + "serve:\n  listen:\n    - " + unixListener(at.Address) + "\n"
		return serveApp(at, text, nil)
	}
}

// serveApp opens an application and waits until it accepts connections.
func serveApp(at Place, text string, opts *cupule.Options) (func() error, error) {
	cfg, err := config.Parse("bench.yaml", []byte(text))
	if err != nil {
		return nil, err
	}
	if opts == nil {
		opts = &cupule.Options{}
	}
	opts.Observer = &events{}
	ctx, cancel := context.WithCancel(context.Background())
	app, err := cupule.OpenConfig(ctx, cfg, opts)
	if err != nil {
		cancel()
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- app.Serve(ctx) }()
	stop := func() error {
		cancel()
		return errors.Join(<-ended, app.Close())
	}
	if err := reachable(at.Address); err != nil {
		return nil, errors.Join(err, stop())
	}
	return stop, nil
}

// reachable waits until someone accepts connections at an address.
func reachable(address string) error {
	network := "unix"
	if _, _, err := net.SplitHostPort(address); err == nil && !strings.Contains(address, "/") {
		network = "tcp"
	}
	limit := time.Now().Add(startLimit)
	for {
		conn, err := net.Dial(network, address)
		if err == nil {
			return conn.Close()
		}
		if time.Now().After(limit) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}
