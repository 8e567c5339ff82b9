package mcpclient

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
)

// Session is a long-lived conversation with one server. Calls in it run side by side. When the
// server has gone, the next call connects again; a call that was in flight is not repeated.
// Every method may be used from any goroutine, and every call is decided as on Client.
type Session struct {
	client *Client
	server *server
	notes  *notes

	mu    sync.Mutex
	link  *link    // nil while there is none
	dial  *dialing // nil while nobody connects
	level string   // of the server's log messages; empty leaves it to the server
	// resources are those that are subscribed to; false while the server hasn't said yes.
	resources map[string]bool
	closed    bool
}

// dialing is an attempt to connect that any number of calls wait for.
type dialing struct {
	done chan struct{}
	err  *registry.Error // set before done is closed
}

// Connect starts or connects to a server for more than one call, or returns the session
// there is. The transport is decided on here, every call when it is made.
func (c *Client) Connect(ctx context.Context, server string, inv effects.Invocation) (*Session, error) {
	o := c.beginList(server, inv)
	if err := o.judgeServer(); err != nil {
		return nil, o.failed(err)
	}
	s := o.server.shared()
	err := o.run(ctx, s.lend, func(context.Context, *link) error { return nil })
	if err != nil {
		return nil, o.failed(err)
	}
	return s, nil
}

// Disconnect ends the session with a server, if there is one.
func (c *Client) Disconnect(server string) {
	if s := c.servers[server]; s != nil {
		if session := s.current(); session != nil {
			_ = session.Close()
		}
	}
}

// IsConnected reports whether there is a session with a server, and the server is there.
func (c *Client) IsConnected(server string) bool {
	s := c.servers[server]
	if s == nil {
		return false
	}
	session := s.current()
	return session != nil && session.live() != nil
}

// Connected returns the servers that IsConnected is true for, sorted.
func (c *Client) Connected() []string {
	list := []string{}
	for alias := range c.servers {
		if c.IsConnected(alias) {
			list = append(list, alias)
		}
	}
	slices.Sort(list)
	return list
}

func (s *server) current() *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session
}

// shared returns the session with the server, which may not be connected yet.
func (s *server) shared() *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == nil {
		session := &Session{client: s.client, server: s}
		session.notes = &notes{changed: session.changed, acknowledged: session.acknowledged}
		s.session = session
	}
	return s.session
}

// changed forgets the list of tools when the server says that it has changed.
func (s *Session) changed(list string) {
	if list != "tools" {
		return
	}
	if l := s.live(); l != nil {
		l.forget()
	}
}

// acknowledged passes on what the server has agreed to tell of.
func (s *Session) acknowledged(params json.RawMessage) {
	if l := s.live(); l != nil {
		l.acknowledge(params)
	}
}

// live returns the conversation, if it can go on.
func (s *Session) live() *link {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == nil || !s.link.alive() {
		return nil
	}
	return s.link
}

// lend is the source of calls in this session.
func (s *Session) lend(ctx context.Context, o *op) (*link, func(), error) {
	for {
		l, d, err := s.attempt()
		if err != nil {
			return nil, nil, err
		}
		if l != nil {
			return l, func() {}, nil
		}
		o.phase = s.server.begin()
		select {
		case <-d.done:
			if d.err != nil {
				mine := *d.err
				return nil, nil, &mine
			}
		case <-ctx.Done():
			return nil, nil, ended(ctx, registry.NotSent)
		}
	}
}

// attempt returns the conversation, or the attempt to begin one: at most one at a time.
func (s *Session) attempt() (*link, *dialing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, nil, failure(registry.KindUnavailable, registry.NotSent, "the session was closed")
	case s.link != nil && s.link.alive():
		return s.link, nil, nil
	case s.dial != nil:
		return nil, s.dial, nil
	}
	if s.link != nil {
		s.server.discard(s.link.peer, false)
		s.link = nil
	}
	d := &dialing{done: make(chan struct{})}
	s.dial = d
	s.client.background(func() { s.connect(d) })
	return nil, d, nil
}

// connect begins a conversation. It is bounded by the server's startup, not by the call that
// happens to come first.
func (s *Session) connect(d *dialing) {
	phase := s.server.begin()
	l, err := s.server.open(context.Background(), s.server.effects(), s.notes, func(p string) { phase = p })
	if err == nil {
		s.keepLevel(l)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dial = nil
	switch {
	case err != nil:
		d.err = asError(err)
		d.err.Phase = phase
	case s.closed:
		s.server.discard(l.peer, false)
	default:
		s.link = l
		s.client.background(l.listen)
		if uris := s.subscribed(); len(uris) > 0 {
			s.client.background(func() { s.renew(l, uris) })
		}
	}
	close(d.done)
}

// Server returns the server's alias.
func (s *Session) Server() string { return s.server.Alias }

// CallTool calls a tool in this session. The error, if any, is a *registry.Error.
func (s *Session) CallTool(ctx context.Context, tool string, args json.RawMessage, inv effects.Invocation) (*Result, error) {
	return s.Call(ctx, ToolCall{Tool: tool, Args: args, Invocation: inv})
}

// Call is CallTool with every setting that a call can have. The server is this session's.
func (s *Session) Call(ctx context.Context, r ToolCall) (*Result, error) {
	r.Server = s.server.Alias
	return s.client.callTool(ctx, r, s.lend)
}

// ListTools is Client.ListTools in this session.
func (s *Session) ListTools(ctx context.Context, inv effects.Invocation) ([]Tool, error) {
	return s.client.listTools(ctx, s.server.Alias, inv, s.lend)
}

// agreed returns what was agreed on with the server; its fields are zero while it is not there.
func (s *Session) agreed() *agreement {
	if l := s.live(); l != nil {
		return l.agreed
	}
	return &agreement{}
}

// ServerInfo returns what the server says of itself, or nil.
func (s *Session) ServerInfo() *mcp.Implementation { return s.agreed().info() }

// Capabilities returns what the server says that it can do, or nil.
func (s *Session) Capabilities() *mcp.ServerCapabilities { return s.agreed().able() }

// Protocol returns the revision of the protocol that is spoken; empty while the server is not there.
func (s *Session) Protocol() string { return s.agreed().version }

// Instructions returns the server's own words on how to use it.
func (s *Session) Instructions() string { return s.agreed().instructions }

// Subscribe returns the notifications of the server from now on. They go on when the session
// connects again. Close the subscription when it is read no more.
func (s *Session) Subscribe() *Subscription { return s.notes.subscribe() }

// Close ends the session and every call in it, within CloseBudget.
func (s *Session) Close() error {
	s.server.mu.Lock()
	if s.server.session == s {
		s.server.session = nil
	}
	s.server.mu.Unlock()
	s.mu.Lock()
	s.closed = true
	l := s.link
	s.link = nil
	s.mu.Unlock()
	if l != nil {
		l.interrupt(errClosed)
		s.server.end(l.peer, false)
	}
	s.notes.close()
	return nil
}

// ListResources is Client.ListResources in this session.
func (s *Session) ListResources(ctx context.Context, inv effects.Invocation) ([]Resource, error) {
	return s.client.listResources(ctx, s.server.Alias, inv, s.lend)
}

// ListResourceTemplates is Client.ListResourceTemplates in this session.
func (s *Session) ListResourceTemplates(ctx context.Context, inv effects.Invocation) ([]ResourceTemplate, error) {
	return s.client.listTemplates(ctx, s.server.Alias, inv, s.lend)
}

// ReadResource is Client.ReadResource in this session.
func (s *Session) ReadResource(ctx context.Context, uri string, inv effects.Invocation) (*ResourceResult, error) {
	return s.client.readResource(ctx, s.server.Alias, uri, inv, s.lend)
}

// ListPrompts is Client.ListPrompts in this session.
func (s *Session) ListPrompts(ctx context.Context, inv effects.Invocation) ([]Prompt, error) {
	return s.client.listPrompts(ctx, s.server.Alias, inv, s.lend)
}

// GetPrompt is Client.GetPrompt in this session.
func (s *Session) GetPrompt(ctx context.Context, prompt string, args map[string]string, inv effects.Invocation) (*PromptResult, error) {
	return s.client.getPrompt(ctx, s.server.Alias, prompt, args, inv, s.lend)
}
