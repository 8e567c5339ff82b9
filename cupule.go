package cupule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/jsonrpcserver"
	"github.com/cupule/cupule/mcpclient"
	"github.com/cupule/cupule/registry"
)

// Options are optional settings of an App. Nil and zero fields mean defaults.
type Options struct {
	// Operations returns the operations that are written in Go. It is called at each Open
	// and Reload with the client that they are to use.
	Operations func(*mcpclient.Client) ([]registry.Operation, error)
	// Handlers binds handlers, by name, to the operations of the file that have no tool.
	Handlers map[string]registry.Handler
	// LookupEnv reads an environment variable; os.LookupEnv if nil. Values are read when
	// they are used.
	LookupEnv func(string) (string, bool)
	// Logger gets what operators should know; nil drops it.
	Logger *slog.Logger
	// Observer is told of every finished call; nil logs calls to Logger.
	Observer registry.Observer
	// Name and Version are told to MCP servers and to rpc.discover; "cupule" and its
	// version if empty.
	Name, Version string
	// Grace is how long running calls may take to finish when serving ends; zero means
	// jsonrpcserver.DefaultGrace.
	Grace time.Duration
}

// App is a running assembly of configuration, client, registry and server. It is safe
// for concurrent use.
type App struct {
	opts Options
	file string

	reloading sync.Mutex // held by one Reload at a time

	mu      sync.Mutex // guards what follows
	current *generation
	server  *jsonrpcserver.Server
	retired sync.WaitGroup
	closed  bool
}

// Open reads a configuration file and assembles an App from it. It starts no server and
// dials nothing. The error lists every problem.
func Open(ctx context.Context, file string, opts *Options) (*App, error) {
	cfg, err := config.Load(file)
	if err != nil {
		return nil, err
	}
	app, err := OpenConfig(ctx, cfg, opts)
	if err != nil {
		return nil, err
	}
	app.file = file
	return app, nil
}

// OpenConfig assembles an App from a configuration. Such an App can't Reload.
func OpenConfig(ctx context.Context, cfg *config.Config, opts *Options) (*App, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	app := &App{}
	if opts != nil {
		app.opts = *opts
	}
	if app.opts.Logger == nil {
		app.opts.Logger = slog.New(slog.DiscardHandler)
	}
	if app.opts.Observer == nil {
		app.opts.Observer = registry.LogObserver(app.opts.Logger)
	}
	g, err := app.assemble(cfg)
	if err != nil {
		return nil, err
	}
	app.current = g
	return app, nil
}

// Registry returns the operations as they are now. After a Reload, calls of an older
// registry that are running finish under its rules, and new ones are refused.
func (a *App) Registry() *registry.Registry { return a.generation().registry }

// Client returns the MCP client as it is now.
func (a *App) Client() *mcpclient.Client { return a.generation().client }

// Config returns the configuration as it is now. It must not be changed.
func (a *App) Config() *config.Config { return a.generation().config }

func (a *App) generation() *generation {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.current
}
