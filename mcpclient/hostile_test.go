package mcpclient

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/mcpclient/mcptest"
	"github.com/cupule/cupule/registry"
)

// hostile is one way in which a server misbehaves, and what a caller gets.
type hostile struct {
	name    string
	faults  []mcptest.Fault
	kind    registry.Kind // empty: the call goes well all the same
	ran     registry.Ran
	limit   string // the name of the limit in the error
	timeout time.Duration
	startup time.Duration
	speaks  mcptest.Generation
	args    int  // bytes of arguments
	events  bool // over HTTP, answer with events
}

// slack guards against hangs, whatever else the machine does. How far past its deadline a
// caller really comes back is in the table, in the soak, and to the nanosecond in TestDeadlines.
const slack = 2 * time.Second

// short is a deadline that a call to a silent server is left to run into.
const short = 1500 * time.Millisecond

func at(step mcptest.Step, do mcptest.Behaviour) []mcptest.Fault {
	return []mcptest.Fault{{At: step, Do: do}}
}

func call(do mcptest.Behaviour) []mcptest.Fault { return at(mcptest.CallTool, do) }

func inArray(messages string) []mcptest.Fault {
	return []mcptest.Fault{{At: mcptest.CallTool, Do: mcptest.Raw, Text: messages}}
}

func list(do mcptest.Behaviour) []mcptest.Fault { return at(mcptest.ListTools, do) }

const second = time.Second

// onBoth are the rows that come out alike over a pipe and over HTTP.
var onBoth = []hostile{
	{name: "silent on the call", faults: call(mcptest.Silent), kind: registry.KindTimeout, ran: registry.Sent, limit: "timeout", timeout: short},
	{name: "silent on the list", faults: list(mcptest.Silent), kind: registry.KindTimeout, ran: registry.NotSent, limit: "timeout", timeout: short},
	{name: "silent from the start", faults: at(mcptest.Any, mcptest.Silent), kind: registry.KindTimeout, ran: registry.NotSent, limit: "startup", startup: 2 * second},
	{name: "silent on the probe", faults: at(mcptest.Discover, mcptest.Silent), speaks: mcptest.Legacy, startup: 4 * second},
	{name: "crash on the probe", faults: []mcptest.Fault{{At: mcptest.Discover, Do: mcptest.CrashBefore}}, speaks: mcptest.Legacy},
	{name: "late answer", faults: []mcptest.Fault{{At: mcptest.CallTool, Do: mcptest.Late, Delay: 4 * second}}, kind: registry.KindTimeout, ran: registry.Sent, timeout: short},
	{name: "a wrong id", faults: call(mcptest.WrongID)},
	{name: "a duplicate id", faults: call(mcptest.DuplicateID)},
	{name: "a fractional id", faults: call(mcptest.FractionalID)},
	{name: "a string id", faults: call(mcptest.StringID)},
	{name: "a null id", faults: call(mcptest.NullID)},
	{name: "null result", faults: call(mcptest.NullResult), kind: registry.KindUpstreamError, ran: registry.Completed},
	{name: "unknown resultType", faults: call(mcptest.UnknownResultType), kind: registry.KindUpstreamError, ran: registry.Completed},
	{name: "input required", faults: call(mcptest.InputRequired), kind: registry.KindUpstreamError, ran: registry.Completed},
	{name: "result and error", faults: call(mcptest.BothResultAndError), kind: registry.KindUpstreamError, ran: registry.Completed},
	{name: "neither result nor error", faults: call(mcptest.NeitherResultNorError), kind: registry.KindUpstreamError, ran: registry.Completed},
	{name: "an error", faults: call(mcptest.ErrorReply), kind: registry.KindUpstreamError, ran: registry.Completed},
	{name: "asks for sampling", faults: call(mcptest.AskSampling), speaks: mcptest.Legacy, events: true},
	{name: "asks for roots", faults: call(mcptest.AskRoots), speaks: mcptest.Legacy, events: true},
	{name: "asks for elicitation", faults: call(mcptest.AskElicitation), speaks: mcptest.Legacy, events: true},
	{name: "pings", faults: call(mcptest.AskPing), speaks: mcptest.Legacy, events: true},
	{name: "progress that nobody asked for", faults: call(mcptest.Progress), events: true},
	{name: "unknown notification", faults: call(mcptest.Notify), events: true},
	{name: "200,000 notifications", faults: call(mcptest.Flood), events: true, timeout: 20 * second},
	{name: "pages for ever", faults: list(mcptest.PageForever), kind: registry.KindOutputTooLarge, ran: registry.NotSent, limit: "catalog pages"},
	{name: "repeats a cursor", faults: list(mcptest.RepeatCursor), kind: registry.KindUpstreamError, ran: registry.NotSent},
	{name: "every tool twice", faults: list(mcptest.EntryTwice), kind: registry.KindToolMissing, ran: registry.NotSent},
	{name: "tools: null", faults: list(mcptest.NullList), kind: registry.KindToolMissing, ran: registry.NotSent},
	{name: "tools: [null]", faults: list(mcptest.NullEntry), kind: registry.KindToolMissing, ran: registry.NotSent},
	{name: "no tools member", faults: list(mcptest.NoList), kind: registry.KindUpstreamError, ran: registry.NotSent},
	{name: "a malformed tool among good ones", faults: list(mcptest.MalformedEntry)},
	{name: "a cyclic schema", faults: list(mcptest.CyclicSchema)},
	{name: "a remote schema", faults: list(mcptest.RemoteSchema)},
	{name: "an error for the list", faults: list(mcptest.ErrorReply), kind: registry.KindUpstreamError, ran: registry.NotSent},
	{name: "a result of 1 GiB", faults: call(mcptest.HugeResult), kind: registry.KindOutputTooLarge, ran: registry.Completed, limit: "max_output"},
	{name: "crash before the answer", faults: call(mcptest.CrashBefore), kind: registry.KindOutcomeUnknown, ran: registry.Sent},
	{name: "crash amid the answer", faults: call(mcptest.CrashAmid), kind: registry.KindOutcomeUnknown, ran: registry.Sent},
	{name: "crash after the answer", faults: call(mcptest.CrashAfter)},
	{name: "an answer in an array", faults: inArray(`[{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}},{"jsonrpc":"2.0","id":"$id","result":{"content":[]}}]`)},
	{name: "an answer in an array of events", faults: inArray(`[7,{"jsonrpc":"2.0","id":"$id","result":{"content":[]}},{"jsonrpc":"2.0","id":"$id","error":{"code":1,"message":"m"}}]`), events: true},
	{name: "a null id in an array", faults: inArray(`[{"jsonrpc":"2.0","id":null,"result":{"content":[]}},null,[]]`), events: true},
	{name: "a null id in an array of one", faults: inArray(`[{"jsonrpc":"2.0","id":null,"result":{"content":[]}}]`)},
	{name: "an array within an array", faults: inArray(`[[{"jsonrpc":"2.0","id":"$id","result":{"content":[]}}]]`), kind: registry.KindTimeout, ran: registry.Sent, timeout: short},
	{name: "{} for a result", faults: []mcptest.Fault{{At: mcptest.CallTool, Do: mcptest.Raw, JSON: []byte(`{"jsonrpc":"2.0","id":"$id","result":{}}`)}}, kind: registry.KindUpstreamError, ran: registry.Completed},
	{name: "crash on the list", faults: list(mcptest.CrashBefore), kind: registry.KindUnavailable, ran: registry.NotSent},
}

// onPipes are the rows for children.
var onPipes = []hostile{
	{name: "crash at the start", faults: []mcptest.Fault{{At: mcptest.Start, Do: mcptest.CrashBefore, Text: "no licence"}}, kind: registry.KindUnavailable, ran: registry.NotSent},
	{name: "stops reading", faults: at(mcptest.ListTools, mcptest.StopReading), kind: registry.KindTimeout, ran: registry.Sent, timeout: short, args: 1 << 20},
	{name: "a banner", faults: at(mcptest.Start, mcptest.Banner)},
	{name: "a byte order mark", faults: at(mcptest.Start, mcptest.BOM)},
	{name: "half a line", faults: call(mcptest.HalfLine), kind: registry.KindTimeout, ran: registry.Sent, timeout: short},
	{name: "an endless line", faults: call(mcptest.EndlessLine), kind: registry.KindOutcomeUnknown, ran: registry.Sent, limit: "discarded bytes", timeout: 20 * second},
	{name: "a line of 1 GiB", faults: call(mcptest.HugeLine), kind: registry.KindOutcomeUnknown, ran: registry.Sent, limit: "discarded bytes", timeout: 20 * second},
	{name: "1 MiB with its id last", faults: []mcptest.Fault{{At: mcptest.CallTool, Do: mcptest.HugeResultIDLast, Size: 1 << 20}}, kind: registry.KindOutputTooLarge, ran: registry.Completed, limit: "max_output"},
	{name: "1 GiB with its id last", faults: call(mcptest.HugeResultIDLast), kind: registry.KindOutcomeUnknown, ran: registry.Sent, limit: "discarded bytes", timeout: 20 * second},
	{name: "much on standard error", faults: []mcptest.Fault{{At: mcptest.CallTool, Do: mcptest.Stderr, Size: 8 << 20}}, timeout: 20 * second},
	{name: "answers twice", faults: call(mcptest.Twice)},
	{name: "an answer that is no JSON", faults: call(mcptest.InvalidJSON), kind: registry.KindUpstreamError, ran: registry.Completed},
	{name: "stays at the end of input", faults: at(mcptest.Start, mcptest.IgnoreEOF)},
	{name: "stays on SIGTERM", faults: []mcptest.Fault{{At: mcptest.Start, Do: mcptest.IgnoreEOF}, {At: mcptest.Start, Do: mcptest.IgnoreTerm}}},
	{name: "a grandchild holds the pipes", faults: at(mcptest.Start, mcptest.Grandchild)},
	{name: "a grandchild, then a crash", faults: []mcptest.Fault{{At: mcptest.Start, Do: mcptest.Grandchild}, {At: mcptest.CallTool, Do: mcptest.CrashBefore}}, kind: registry.KindOutcomeUnknown, ran: registry.Sent},
	{name: "an escaped grandchild", faults: at(mcptest.Start, mcptest.Escape)},
	{name: "an escaped one, then a crash", faults: []mcptest.Fault{{At: mcptest.Start, Do: mcptest.Escape}, {At: mcptest.CallTool, Do: mcptest.CrashBefore}}, kind: registry.KindOutcomeUnknown, ran: registry.Sent},
}

// onHTTP are the rows for Streamable HTTP.
var onHTTP = []hostile{
	{name: "redirect 301", faults: []mcptest.Fault{{At: mcptest.CallTool, Do: mcptest.RedirectSame, Code: 301}}, kind: registry.KindUpstreamError, ran: registry.Completed},
	{name: "redirect 302", faults: []mcptest.Fault{{At: mcptest.CallTool, Do: mcptest.RedirectSame, Code: 302}}, kind: registry.KindUpstreamError, ran: registry.Completed},
	{name: "redirect 303", faults: []mcptest.Fault{{At: mcptest.CallTool, Do: mcptest.RedirectSame, Code: 303}}, kind: registry.KindUpstreamError, ran: registry.Completed},
	{name: "redirect 307", faults: call(mcptest.RedirectSame), kind: registry.KindUpstreamError, ran: registry.Completed},
	{name: "redirect 308", faults: []mcptest.Fault{{At: mcptest.CallTool, Do: mcptest.RedirectSame, Code: 308}}, kind: registry.KindUpstreamError, ran: registry.Completed},
	{name: "redirect to another host", faults: call(mcptest.RedirectOther), kind: registry.KindUpstreamError, ran: registry.Completed},
	{name: "redirect to plain HTTP", faults: []mcptest.Fault{{At: mcptest.CallTool, Do: mcptest.Redirect, Text: "http://192.0.2.1/mcp"}}, kind: registry.KindUpstreamError, ran: registry.Completed},
	{name: "redirect at the start", faults: at(mcptest.Any, mcptest.RedirectOther), kind: registry.KindUnavailable, ran: registry.NotSent},
	{name: "a page", faults: call(mcptest.HTML), kind: registry.KindUpstreamError, ran: registry.Sent},
	{name: "a page at the start", faults: at(mcptest.Any, mcptest.HTML), kind: registry.KindUpstreamError, ran: registry.NotSent},
	{name: "truncated", faults: call(mcptest.Truncated), kind: registry.KindOutcomeUnknown, ran: registry.Sent},
	{name: "empty", faults: call(mcptest.EmptyBody), kind: registry.KindUpstreamError, ran: registry.Sent},
	{name: "202", faults: []mcptest.Fault{{At: mcptest.CallTool, Do: mcptest.Status, Code: 202}}, kind: registry.KindUpstreamError, ran: registry.Sent},
	{name: "204", faults: []mcptest.Fault{{At: mcptest.CallTool, Do: mcptest.Status, Code: 204}}, kind: registry.KindUpstreamError, ran: registry.Sent},
	{name: "401", faults: []mcptest.Fault{{At: mcptest.CallTool, Do: mcptest.Status, Code: 401}}, kind: registry.KindUpstreamError, ran: registry.Completed},
	{name: "401 at the start", faults: []mcptest.Fault{{At: mcptest.Any, Do: mcptest.Status, Code: 401}}, kind: registry.KindUnavailable, ran: registry.NotSent},
	{name: "503 with Retry-After", faults: []mcptest.Fault{{At: mcptest.CallTool, Do: mcptest.Status, Code: 503, Text: "7"}}, kind: registry.KindUpstreamError, ran: registry.Sent},
	{name: "500 at the start", faults: []mcptest.Fault{{At: mcptest.Any, Do: mcptest.Status, Code: 500}}, kind: registry.KindUnavailable, ran: registry.NotSent},
	{name: "a body of 1 GiB", faults: call(mcptest.HugeBody), kind: registry.KindOutputTooLarge, ran: registry.Completed, limit: "max_output"},
	{name: "an event of 1 GiB", faults: call(mcptest.HugeEvent), kind: registry.KindOutputTooLarge, ran: registry.Completed, limit: "max_output"},
	{name: "an error of 1 GiB", faults: call(mcptest.HugeError), kind: registry.KindUpstreamError, ran: registry.Sent},
	{name: "a header of 16 MiB", faults: call(mcptest.HugeHeader), kind: registry.KindUpstreamError, ran: registry.Sent},
	{name: "a compression bomb", faults: call(mcptest.CompressionBomb), kind: registry.KindUpstreamError, ran: registry.Sent},
	{name: "slow headers", faults: call(mcptest.SlowHeaders), kind: registry.KindTimeout, ran: registry.Sent, timeout: short},
	{name: "a stream left open", faults: call(mcptest.StreamLeftOpen)},
	{name: "session gone", faults: call(mcptest.SessionGone), speaks: mcptest.Legacy, kind: registry.KindUnavailable, ran: registry.Completed},
	{name: "retry in years", faults: call(mcptest.RetryYears), kind: registry.KindOutcomeUnknown, ran: registry.Sent},
}

// wrongID are answers that are for no call: over a pipe the call waits on, over HTTP the
// response was the only one that could come.
func wrongID(h hostile, web bool) hostile {
	if !strings.Contains(h.name+" in", " id in") && !strings.HasPrefix(h.name, "an array within") {
		return h
	}
	if web && h.events {
		h.kind, h.ran = registry.KindOutcomeUnknown, registry.Sent
	} else if web {
		h.kind, h.ran = registry.KindUpstreamError, registry.Sent
	} else {
		h.kind, h.ran, h.timeout = registry.KindTimeout, registry.Sent, short
	}
	return h
}

func (h hostile) script() mcptest.Script {
	s := mcptest.Good().With(h.faults...)
	s.Speaks, s.Events = h.speaks, h.events
	return s
}

func (h hostile) server(way config.Server) *config.Server {
	r := rule("echo")
	r.Timeout = max(h.timeout, 0)
	if h.timeout == 0 {
		r.Timeout = 10 * second
	}
	way.Startup, way.Allowed = h.startup, rules(r)
	if h.startup == 0 {
		way.Startup = 10 * second
	}
	return &way
}

func TestHostileChildren(t *testing.T) {
	for _, h := range append(onBoth, onPipes...) {
		h = wrongID(h, false)
		t.Run(h.name, func(t *testing.T) {
			script := h.script()
			script.Record = filepath.Join(t.TempDir(), "record")
			path, args := script.Command()
			h.run(t, h.server(config.Server{Stdio: &config.Stdio{Command: path, Args: args}}), func() int {
				record, err := mcptest.ReadRecord(script.Record)
				if err != nil {
					t.Fatal(err)
				}
				return record.Count("tools/call")
			})
		})
	}
}

func TestHostileHTTP(t *testing.T) {
	for _, h := range append(onBoth, onHTTP...) {
		h = wrongID(h, true)
		t.Run(h.name, func(t *testing.T) {
			web := h.script().HTTP(t)
			h.run(t, h.server(config.Server{HTTP: &config.HTTP{URL: web.URL}}), func() int {
				return web.Record().Count("tools/call") + web.Elsewhere.Record().Count("tools/call")
			})
		})
	}
}

// run makes one call, and judges what came of it and what is left.
func (h hostile) run(t *testing.T, s *config.Server, calls func() int) {
	before := measure()
	c := newClient(t, map[string]*config.Server{"bad": s})
	args := []byte(fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", h.args)))
	began := time.Now()
	r, err := c.CallTool(t.Context(), "bad", "echo", args, effects.Invocation{})
	took := time.Since(began)
	closing := time.Now()
	_ = c.Close()
	closed := time.Since(closing)
	left := wantNothingLeft(t, before)
	var e *registry.Error
	errors.As(err, &e)
	switch {
	case h.kind == "" && (err != nil || r.IsError):
		t.Errorf("want a result, got %+v, %v", r, err)
	case h.kind != "":
		e = wantKind(t, err, h.kind, h.ran)
		if h.limit != "" && (e.Limit == nil || e.Limit.Name != h.limit) {
			t.Errorf("want the limit %q, got %+v", h.limit, e.Limit)
		}
	}
	if late := took - s.Allowed["echo"].Timeout; late > slack {
		t.Errorf("the caller came back %v past its deadline", late)
	}
	if closed > CloseBudget+slack {
		t.Errorf("Close took %v", closed)
	}
	if n := calls(); n > 1 {
		t.Errorf("the server was called %d times", n)
	}
	t.Log(h.line(e, took, s.Allowed["echo"].Timeout, closed, left))
}

// line is the row of the table that -v prints.
func (h hostile) line(e *registry.Error, took, deadline, closed time.Duration, left residue) string {
	kind, ran, phase := registry.Kind("ok"), registry.Completed, ""
	if e != nil {
		kind, ran, phase = e.Kind, e.Ran, e.Phase
	}
	return fmt.Sprintf("| %-34s | %-16s | %-9s | %-9s | %7.0f of %5.0f ms | closed in %4.0f ms | left %v |", h.name, kind, ran, phase,
		took.Seconds()*1000, deadline.Seconds()*1000, closed.Seconds()*1000, left)
}
