package cupule

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/cupule/cupule/config"
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
	// they are used, so that they can rotate.
	LookupEnv func(string) (string, bool)
	// Logger gets what operators should know; nil drops it.
	Logger *slog.Logger
	// Observer is told of every finished call, of operations and of tools; nil logs them
	// to Logger.
	Observer registry.Observer
	// Name and Version are told to MCP servers and to who asks for rpc.discover; "cupule"
	// and "1" if empty.
	Name, Version string
	// Grace is how long running calls may take to finish when serving or the App ends;
	// zero means jsonrpcserver.DefaultGrace.
	Grace time.Duration
	// Server holds further limits of the JSON-RPC server; nil means defaults.
	Server *jsonrpcserver.Options
	// In and Out are what a stdio listener speaks on; os.Stdin and os.Stdout if nil.
	In  io.Reader
	Out io.Writer
	// Listening is told the addresses once everything listens, ports filled in; nil for none.
	Listening func(addresses []string)
}

// App is an assembly of configuration, client, registry and server, safe for concurrent use.
type App struct {
	opts Options
	file string

	reloading chan struct{} // holds something while a Reload runs

	mu           sync.Mutex // guards what follows
	current      *generation
	server       *jsonrpcserver.Server // while serving
	serving      []config.Listener     // what it listens on
	certificates []*certificate        // of those
	closed       bool
	retiring     sync.WaitGroup // generations that still have running calls

	closer  sync.Once
	closing context.Context // ended by Close
	end     context.CancelFunc
}

// ErrClosed is returned by methods of an App after Close.
var ErrClosed = errors.New("cupule: the application is closed")

// Open reads a configuration file and assembles an App from it. It starts no server and
// dials nothing. The error lists every problem: it is a *config.Error for what is wrong
// with the file, or a *registry.BuildError for what is wrong with the operations.
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

// OpenConfig assembles an App from a configuration, as Open does. Such an App has no file
// to Reload.
func OpenConfig(ctx context.Context, cfg *config.Config, opts *Options) (*App, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if cfg == nil {
		return nil, errors.New("cupule: no configuration was given")
	}
	app := &App{reloading: make(chan struct{}, 1)}
	if opts != nil {
		app.opts = *opts
	}
	if app.opts.Logger == nil {
		app.opts.Logger = slog.New(slog.DiscardHandler)
	}
	if app.opts.Observer == nil {
		app.opts.Observer = registry.LogObserver(app.opts.Logger)
	}
	if app.opts.Grace <= 0 {
		app.opts.Grace = jsonrpcserver.DefaultGrace
	}
	var err error
	if app.current, err = app.assemble(cfg); err != nil {
		return nil, err
	}
	app.closing, app.end = context.WithCancel(context.Background())
	return app, nil
}

// Registry returns the operations as they are now. After a Reload, running calls of an
// older registry finish under its rules, and its new calls are refused as shutting_down.
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

// Close ends serving, lets running calls finish within the grace, and ends every session
// with an MCP server. When it returns nothing is left, but for a Reload whose file can't be
// read to its end. The error tells of calls whose
// handlers don't heed their contexts.
func (a *App) Close() error {
	var err error
	a.closer.Do(func() { err = a.close() })
	return err
}

func (a *App) close() error {
	a.mu.Lock()
	a.closed = true
	server, last := a.server, a.current
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), a.opts.Grace)
	defer cancel()
	var err error
	if server != nil {
		err = server.Shutdown(ctx)
	}
	err = errors.Join(err, last.retire(ctx))
	a.end()
	a.retiring.Wait()
	return err
}
