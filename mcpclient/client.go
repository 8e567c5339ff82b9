package mcpclient

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/registry"
)

// The identity of a client that states none.
const (
	DefaultName    = "cupule"
	DefaultVersion = "1"
)

// Options are optional settings of a Client; nil and zero fields mean defaults.
type Options struct {
	// Name and Version are what the client says of itself to servers; DefaultName and
	// DefaultVersion where empty.
	Name, Version string
	// LookupEnv reads a variable, each time that it is needed; os.LookupEnv where nil.
	LookupEnv func(name string) (value string, ok bool)
	// Observer is told of every call of a tool, resource or prompt, denied ones included;
	// nil for none.
	Observer registry.Observer
	// Logger gets what nobody is told otherwise, such as how a child ended; nil drops it.
	Logger *slog.Logger
}

// Client calls the tools of configured servers. Its methods may be used from any goroutine.
type Client struct {
	servers  map[string]*server
	identity identity
	lookup   func(string) (string, bool)
	observer registry.Observer
	log      *slog.Logger
	dial     dialFunc      // for tests to replace
	stopping chan struct{} // closed when Close begins
	stopped  chan struct{} // closed when it has ended

	large chan struct{} // holds a token for each large list that is being read

	work sync.WaitGroup // calls in flight, and what ends sessions behind their backs

	mu     sync.Mutex
	closed bool
	peers  map[peer]struct{} // conversations that have not ended
}

// New returns a client for the servers of a configuration. It starts nothing and dials nothing.
func New(cfg *config.Config, opts *Options) (*Client, error) {
	if cfg == nil {
		return nil, errors.New("mcpclient: there is no configuration")
	}
	if opts == nil {
		opts = &Options{}
	}
	c := &Client{
		servers:  make(map[string]*server, len(cfg.MCP)),
		identity: identity{name: either(opts.Name, DefaultName), version: either(opts.Version, DefaultVersion)},
		lookup:   opts.LookupEnv,
		observer: opts.Observer,
		log:      opts.Logger,
		dial:     dial,
		large:    make(chan struct{}, maxLargeLists),
		stopping: make(chan struct{}),
		stopped:  make(chan struct{}),
		peers:    make(map[peer]struct{}),
	}
	if c.lookup == nil {
		c.lookup = os.LookupEnv
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	for alias, s := range cfg.MCP {
		if s == nil || (s.Stdio == nil) == (s.HTTP == nil) {
			return nil, fmt.Errorf("mcpclient: server %s needs exactly one of stdio and http", alias)
		}
		c.servers[alias] = newServer(c, alias, s)
	}
	return c, nil
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// Close ends every call and session, and returns when nothing of them is left: within
// CloseBudget. Calls from then on are refused.
func (c *Client) Close() error {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	open := slices.Collect(maps.Keys(c.peers))
	c.mu.Unlock()
	if !first {
		<-c.stopped
		return nil
	}
	defer close(c.stopped)
	close(c.stopping)
	for _, p := range open {
		p.interrupt(errShuttingDown)
	}
	for _, s := range c.servers {
		s.close()
	}
	c.work.Wait()
	return nil
}

// enter counts a call in flight, unless the client is being closed.
func (c *Client) enter() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return shuttingDown()
	}
	c.work.Add(1)
	return nil
}

// background runs f in a goroutine that Close waits for. Only a call in flight may start one.
func (c *Client) background(f func()) {
	c.work.Add(1)
	go func() {
		defer c.work.Done()
		f()
	}()
}

// own keeps a conversation in mind, so that Close can end it.
func (c *Client) own(p peer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return shuttingDown()
	}
	c.peers[p] = struct{}{}
	return nil
}

func (c *Client) disown(p peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.peers, p)
}
