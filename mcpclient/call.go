package mcpclient

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
)

// ToolCall is one call of a tool.
type ToolCall struct {
	Server string
	Tool   string
	// Args is a JSON object; nil means an empty one.
	Args json.RawMessage
	// Invocation is on whose behalf the tool is called.
	Invocation effects.Invocation
	// Progress is told of the tool's progress, on the goroutine of the call; nil asks for none.
	Progress func(registry.Progress)

	output *registry.Limit // a further bound on the result, as an operation has one
}

// CallTool calls a tool in a session of its own, unless the server's configuration says
// otherwise. The error, if any, is a *registry.Error.
func (c *Client) CallTool(ctx context.Context, server, tool string, args json.RawMessage, inv effects.Invocation) (*Result, error) {
	return c.Call(ctx, ToolCall{Server: server, Tool: tool, Args: args, Invocation: inv})
}

// Call is CallTool with every setting that a call can have.
func (c *Client) Call(ctx context.Context, r ToolCall) (*Result, error) {
	return c.callTool(ctx, r, c.borrow)
}

// callTool is the path of every call of a tool: look up, decide, check the arguments,
// bound the time, wait for a place, get a session, find the tool, call it.
func (c *Client) callTool(ctx context.Context, r ToolCall, from source) (result *Result, err error) {
	o := c.begin(effects.Tool, r.Server, r.Tool, r.Invocation)
	o.event.ParamsBytes = len(r.Args)
	defer func() { result, err = finish(ctx, o, result, err) }()
	if err := o.judge(); err != nil {
		return nil, err
	}
	args, err := checkArguments(r.Args)
	if err != nil {
		return nil, err
	}
	limit := o.limit(r.output)
	var raw json.RawMessage
	var seen shape
	err = o.run(ctx, from, func(ctx context.Context, l *link) error {
		t, err := l.findTool(ctx, r.Tool)
		if err != nil {
			return err
		}
		o.phase = phaseCall
		q := l.toolCall(t, r.Tool, args, limit, r.Progress)
		raw, err = l.do(ctx, q)
		seen = q.shape
		return err
	})
	if err != nil {
		return nil, err
	}
	o.event.ResultBytes = len(raw)
	return newResult(raw, seen)
}

// source gets a session for one call, and takes it back.
type source func(ctx context.Context, o *op) (l *link, giveBack func(), err error)

// op is one call on its way: what is called, how far it has come, and its event.
type op struct {
	client  *Client
	server  *server // nil where no such server is configured
	rule    *config.Rule
	subject effects.Subject
	alias   string
	name    string
	inv     effects.Invocation
	phase   string
	event   registry.Event
	spare   bool // the session is a warm one
}

// begin looks up what is called. What isn't configured has no rule.
func (c *Client) begin(kind effects.Kind, alias, name string, inv effects.Invocation) *op {
	o := &op{client: c, server: c.servers[alias], alias: clip(alias), name: name, inv: inv}
	o.subject = effects.Subject{Kind: kind, Name: clip(alias + "/" + name)}
	if o.server != nil {
		o.rule = o.server.rule(kind, name)
	}
	if o.rule != nil {
		o.subject.Effects, o.subject.Declared = o.rule.Effects, o.rule.Declared
	}
	o.event = registry.Event{Subject: o.subject, Invocation: inv, Started: time.Now()}
	return o
}

// maxName is how much of a name that a caller gave is repeated.
const maxName = 256

func clip(name string) string {
	if len(name) > maxName {
		return strings.ToValidUTF8(name[:maxName], "") + "..."
	}
	return name
}

// judge refuses what isn't configured and what is denied, before anything starts.
func (o *op) judge() error {
	switch {
	case o.server == nil:
		return failure(registry.KindMethodNotFound, registry.NotSent, "no server %.80q is configured", o.alias)
	case o.rule == nil:
		return failure(registry.KindMethodNotFound, registry.NotSent, "server %s has no %s %.80q that may be reached", o.alias, o.subject.Kind, o.name)
	}
	return decide(o.inv, o.subject, o.server.subject())
}

// decide asks the effects engine about all that a call would reach.
func decide(inv effects.Invocation, subjects ...effects.Subject) error {
	var reasons []effects.Reason
	denied := false
	for _, s := range subjects {
		d := effects.Decide(s, inv)
		denied = denied || !d.Allowed
		reasons = append(reasons, d.Reasons...)
	}
	if !denied {
		return nil
	}
	text := effects.Decision{Reasons: withoutPositions(reasons)}.String()
	e := failure(registry.KindDenied, registry.NotSent, "%s", text)
	e.Reasons = reasons
	return e
}

// withoutPositions returns the reasons as a caller may see them.
func withoutPositions(reasons []effects.Reason) []effects.Reason {
	plain := make([]effects.Reason, len(reasons))
	for i, r := range reasons {
		r.At = effects.Position{}
		plain[i] = r
	}
	return plain
}

// limit returns the bound on the result, and whose it is: the smallest one's.
func (o *op) limit(further *registry.Limit) registry.Limit {
	l := registry.Limit{Name: "max_output", Whose: o.whose(), Bytes: o.rule.MaxOutput}
	if l.Bytes <= 0 {
		l.Bytes = config.DefaultMaxOutput
	}
	if n := o.inv.MaxOutput(); n > 0 && n < l.Bytes {
		l.Whose, l.Bytes = caller(o.inv), n
	}
	if further != nil && further.Bytes > 0 && further.Bytes < l.Bytes {
		l = *further
	}
	return l
}

// whose is how limits name what is called.
func (o *op) whose() string { return o.subject.Kind.String() + " " + o.subject.Name }

func caller(inv effects.Invocation) string {
	if inv.Principal() == "" {
		return "caller"
	}
	return "caller " + inv.Principal()
}

// run does the work of a call that may go ahead, within its time.
func (o *op) run(ctx context.Context, from source, work func(context.Context, *link) error) error {
	if err := o.client.enter(); err != nil {
		return err
	}
	defer o.client.work.Done()
	ctx, cancel := o.deadline(ctx)
	defer cancel()
	if ctx.Err() != nil {
		return ended(ctx, registry.NotSent)
	}
	leave, err := o.server.enter(ctx, o.server.slots)
	if err != nil {
		return err
	}
	defer leave()
	err = o.attempt(ctx, from, work)
	if o.spare && renewable(err) {
		return o.attempt(ctx, o.server.bounded(o.server.fresh), work)
	}
	return err
}

func (o *op) attempt(ctx context.Context, from source, work func(context.Context, *link) error) error {
	l, giveBack, err := from(ctx, o)
	if err != nil {
		return err
	}
	o.phase = phaseList
	if err = work(ctx, l); err != nil {
		err = attach(asError(err), l.peer)
	}
	giveBack()
	return err
}

// deadline bounds the call by its rule's and its caller's timeout. What the context has
// already is the shortest, where it is.
func (o *op) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	d, whose := o.rule.Timeout, o.whose()
	if d <= 0 {
		d = config.DefaultTimeout
	}
	if t := o.inv.Timeout(); t > 0 && t < d {
		d, whose = t, caller(o.inv)
	}
	return withTimeout(ctx, d, "timeout", whose)
}

// borrow gets a session for one call, as the server's configuration has it: the shared one, a
// warm one, or one that is started for it.
func (c *Client) borrow(ctx context.Context, o *op) (*link, func(), error) {
	switch s := o.server; {
	case s.Session.Shared:
		return s.shared().lend(ctx, o)
	case s.pool != nil:
		return s.bounded(s.pool.lend)(ctx, o)
	default:
		return s.bounded(s.fresh)(ctx, o)
	}
}

// fresh gets a session that is started for one call, and ends with it.
func (s *server) fresh(ctx context.Context, o *op) (*link, func(), error) {
	l, err := s.open(ctx, o.subject.Effects, nil, func(phase string) { o.phase = phase })
	if err != nil {
		return nil, nil, err
	}
	l.once = true
	return l, func() { s.discard(l.peer, false) }, nil
}

// finish completes the error of a call, and tells the observer.
func finish[T any](ctx context.Context, o *op, result *T, err error) (*T, error) {
	o.event.Duration = time.Since(o.event.Started)
	if err != nil {
		o.event.Err = o.complete(asError(err))
		result, err = nil, o.event.Err
	} else if r, ok := any(result).(*Result); ok {
		o.event.IsError = r.IsError
	}
	if o.client.observer != nil {
		o.client.observer.Observe(ctx, o.event)
	}
	return result, err
}

// complete says in an error what was called and how far it came. Before the call itself
// nothing ran, whatever became of the server.
func (o *op) complete(e *registry.Error) *registry.Error {
	e.Server, e.Tool = o.alias, clip(o.name)
	if e.Phase == "" {
		e.Phase = o.phase
	}
	if e.Phase == phaseCall {
		return e
	}
	e.Ran = registry.NotSent
	if e.Kind == registry.KindOutcomeUnknown || e.Kind == registry.KindUpstreamError && isStatus(e) {
		e.Kind = registry.KindUnavailable
	}
	return e
}
