package mcpclient

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/internal/proc"
	"github.com/cupule/cupule/registry"
)

// server is one configured server, with what its client remembers of it.
type server struct {
	*config.Server
	client *Client

	slots    chan struct{} // of calls in flight; nil where they have no bound
	children chan struct{} // of calls with a child of their own; nil where they have no other bound
	queued   atomic.Int32  // calls that wait for a slot
	ending   atomic.Int32  // conversations that are being ended
	large    chan struct{} // holds a token while a large list is being read

	pool *pool // nil without warm sessions

	mu      sync.Mutex
	spoke   string   // the protocol of the last session: modern, an older one, or "" when unknown
	session *Session // the long-lived one; nil where there is none
}

func newServer(c *Client, alias string, cfg *config.Server) *server {
	copied := *cfg
	copied.Alias = alias
	if copied.Startup <= 0 {
		copied.Startup = config.DefaultStartup
	}
	s := &server{Server: &copied, client: c, large: make(chan struct{}, 1)}
	switch {
	case cfg.Concurrency > 0:
		s.slots = make(chan struct{}, cfg.Concurrency)
	case cfg.Stdio != nil:
		s.children = make(chan struct{}, max(minChildren, 4*runtime.GOMAXPROCS(0)))
	}
	if cfg.Session.Warm > 0 && cfg.Stdio != nil && !cfg.Session.Shared {
		s.pool = newPool(s)
	}
	return s
}

// subject returns the transport as the effects engine sees it.
func (s *server) subject() effects.Subject {
	return effects.Subject{Kind: s.Transport(), Name: s.Alias}
}

// close ends what lives longer than a call.
func (s *server) close() {
	if s.pool != nil {
		s.pool.close()
	}
	if session := s.current(); session != nil {
		s.client.background(func() { _ = session.Close() })
	}
}

// effects are those of everything that may be reached, for sessions of more than one call.
func (s *server) effects() effects.Set {
	var all effects.Set
	for _, rules := range []map[string]*config.Rule{s.Allowed, s.Resources, s.Prompts} {
		for _, r := range rules {
			all = all.Union(r.Effects)
		}
	}
	return all
}

// rule returns what is configured for a tool, resource or prompt; nil where nothing is.
func (s *server) rule(kind effects.Kind, name string) *config.Rule {
	switch kind {
	case effects.Tool:
		return s.Allowed[name]
	case effects.Prompt:
		return s.Prompts[name]
	case effects.Resource:
		return closest(s.Resources, name)
	}
	return nil
}

// allows reports whether a tool is configured.
func (s *server) allows(tool string) bool { return s.Allowed[tool] != nil }

// closest returns the rule whose pattern says most about a resource.
func closest(rules map[string]*config.Rule, uri string) *config.Rule {
	var best *config.Rule
	var of effects.Pattern
	for text, rule := range rules {
		if p := effects.Pattern(text); p.Matches(uri) && (best == nil || p.Closer(of)) {
			best, of = rule, p
		}
	}
	return best
}

// minChildren is how many calls with a child of their own are in flight at least, where the
// configuration has no bound.
const minChildren = 16

// bounded is a source of sessions with a child for each call.
func (s *server) bounded(get source) source {
	return func(ctx context.Context, o *op) (*link, func(), error) {
		leave, err := s.enter(ctx, s.children)
		if err != nil {
			return nil, nil, err
		}
		l, giveBack, err := get(ctx, o)
		if err != nil {
			leave()
			return nil, nil, err
		}
		return l, func() { giveBack(); leave() }, nil
	}
}

// enter waits for one of the slots, where there are any.
func (s *server) enter(ctx context.Context, slots chan struct{}) (leave func(), err error) {
	if slots == nil {
		return func() {}, nil
	}
	leave = func() { <-slots }
	select {
	case slots <- struct{}{}:
		return leave, nil
	default:
	}
	if s.queued.Add(1) > MaxWaiting {
		s.queued.Add(-1)
		e := failure(registry.KindOverloaded, registry.NotSent, "too many calls wait for server %s", s.Alias)
		e.RetryAfter = time.Second
		return nil, limited(e, registry.Limit{Name: "waiting calls", Whose: "server " + s.Alias, Count: MaxWaiting})
	}
	defer s.queued.Add(-1)
	select {
	case slots <- struct{}{}:
		return leave, nil
	case <-s.client.stopping:
		return nil, shuttingDown()
	case <-ctx.Done():
		return nil, ended(ctx, registry.NotSent)
	}
}

func shuttingDown() *registry.Error {
	return failure(registry.KindShuttingDown, registry.NotSent, "the client is being closed")
}

// dialFunc starts or connects to a server without a word to it.
type dialFunc func(s *config.Server, v *variables, allowed effects.Set, n *notes) (peer, error)

func dial(s *config.Server, v *variables, allowed effects.Set, n *notes) (peer, error) {
	if s.Stdio != nil {
		return asPeer(startChild(s, v, allowed, n))
	}
	return asPeer(newHTTP(s, v, n))
}

// dial starts or connects to the server, and lets the client own what comes of it.
func (s *server) dial(v *variables, allowed effects.Set, n *notes) (peer, error) {
	p, err := s.client.dial(s.Server, v, allowed, n)
	if err != nil {
		return nil, err
	}
	if err := s.client.own(p); err != nil {
		p.close(true)
		return nil, err
	}
	return p, nil
}

func asPeer[P peer](p P, err error) (peer, error) {
	if err != nil {
		return nil, err
	}
	return p, nil
}

// open begins a session: variables, start, negotiation. It reports its progress by phase.
func (s *server) open(ctx context.Context, allowed effects.Set, n *notes, phase func(string)) (*link, error) {
	phase(s.begin())
	v, err := readVariables(s.Server, s.client.lookup)
	if err != nil {
		return nil, err
	}
	ctx, cancel := withTimeout(ctx, s.Startup, "startup", "server "+s.Alias)
	defer cancel()
	d := dialer{server: s, variables: v, allowed: allowed, notes: n, phase: phase}
	l, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (s *server) begin() string {
	if s.Stdio != nil {
		return phaseStart
	}
	return phaseConnect
}

func (s *server) remembered() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spoke
}

func (s *server) remember(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spoke = version
}

// dialer opens one session, with a second attempt for servers that can't bear the probe.
type dialer struct {
	*server
	variables *variables
	allowed   effects.Set
	notes     *notes
	phase     func(string)
	peer      peer
}

func (d *dialer) open(ctx context.Context) (*link, error) {
	if err := d.dial(); err != nil {
		return nil, err
	}
	d.phase(phaseNegotiate)
	a, err := d.negotiate(ctx)
	if err != nil {
		d.remember("")
		if d.peer == nil {
			return nil, err
		}
		e := attach(asError(err), d.peer)
		if e.Kind == registry.KindUnavailable && d.HTTP != nil && !isStatus(err) {
			d.phase(phaseConnect)
		}
		d.server.discard(d.peer, true)
		return nil, e
	}
	d.remember(a.version)
	return &link{peer: d.peer, agreed: a, server: d.server, notes: d.notes}, nil
}

func (d *dialer) dial() (err error) {
	d.peer, err = d.server.dial(d.variables, d.allowed, d.notes)
	return err
}

func (d *dialer) negotiate(ctx context.Context) (*agreement, error) {
	id, pinned, known := d.client.identity, d.Protocol, d.remembered()
	switch {
	case pinned == modern:
		a, err := probe(ctx, d.peer, id, 0)
		return a, notModern(err)
	case pinned != "":
		return initialize(ctx, d.peer, id, pinned)
	case known != "" && known != modern:
		return initialize(ctx, d.peer, id, "")
	}
	patience := min(MaxProbe, d.Startup/4)
	if known == modern {
		patience = d.Startup / 2
	}
	a, err := probe(ctx, d.peer, id, patience)
	switch {
	case errors.Is(err, errSilent):
		d.server.discard(d.peer, true)
		if err := d.dial(); err != nil {
			return nil, err
		}
	case !errors.Is(err, errLegacy):
		return a, err
	}
	return initialize(ctx, d.peer, id, "")
}

// notModern turns the two ways of not speaking the pinned protocol into errors.
func notModern(err error) error {
	switch {
	case errors.Is(err, errLegacy):
		return failure(registry.KindUpstreamError, registry.NotSent, "the server does not speak protocol %s, which is pinned", modern)
	case errors.Is(err, errSilent):
		return failure(registry.KindUnavailable, registry.NotSent, "the server gave no answer to server/discover")
	}
	return err
}

// discard ends a conversation behind the caller's back, in a goroutine that the client owns.
// While many are being ended, the child is given no time.
func (s *server) discard(p peer, now bool) {
	now = s.ending.Add(1) > MaxClosing || now
	s.client.background(func() {
		defer s.ending.Add(-1)
		s.end(p, now)
	})
}

// end ends a conversation, and logs a child that could not be ended properly.
func (s *server) end(p peer, now bool) {
	p.close(now)
	s.client.disown(p)
	k, ok := p.(*conn)
	switch {
	case !ok:
	case k.report.Escaped:
		s.client.log.Warn("a process that left the server's process group may still run", "server", s.Alias, "exit", k.report.Exit)
	case k.report.Stage == proc.OnKill || k.report.Stage == proc.Stuck:
		s.client.log.Info("a server did not end by itself", "server", s.Alias, "exit", k.report.Exit, "stage", string(k.report.Stage))
	}
}

// attach adds to an error what the peer's evidence says.
func attach(e *registry.Error, p peer) *registry.Error {
	switch e.Kind {
	case registry.KindUnavailable, registry.KindOutcomeUnknown, registry.KindUpstreamError, registry.KindTimeout:
	default:
		return e
	}
	ev := p.evidence()
	e.Stderr = ev.stderr
	if ev.strays != "" {
		e.Err = errors.Join(e.Err, errors.New(ev.strays))
	}
	return e
}
