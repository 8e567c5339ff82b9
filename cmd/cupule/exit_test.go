package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
	"github.com/google/go-cmp/cmp"
	"github.com/sourcegraph/jsonrpc2"
)

func TestExitCodes(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errReported, 1},
		{&registry.Error{Kind: registry.KindApplication}, 1},
		{usagef("x"), 2},
		{&registry.BuildError{}, 2},
		{&registry.Error{Kind: registry.KindMethodNotFound}, 2},
		{&registry.Error{Kind: registry.KindInvalidParams}, 2},
		{errors.New(`unknown command "x" for "cupule"`), 2},
		{&registry.Error{Kind: registry.KindDenied}, 3},
		{&registry.Error{Kind: registry.KindUnauthenticated}, 3},
		{&registry.Error{Kind: registry.KindTimeout}, 4},
		{&registry.Error{Kind: registry.KindUnavailable}, 4},
		{&registry.Error{Kind: registry.KindOverloaded}, 4},
		{&registry.Error{Kind: registry.KindShuttingDown}, 4},
		{&registry.Error{Kind: registry.KindInternal}, 5},
		{&registry.Error{Kind: registry.KindOutputTooLarge}, 5},
		{&registry.Error{Kind: registry.KindOutcomeUnknown}, 5},
		{&registry.Error{Kind: registry.KindUpstreamError}, 5},
		{&registry.Error{Kind: registry.KindToolMissing}, 5},
		{&registry.Error{Kind: registry.KindParseError}, 5},
		{errors.New("x"), 5},
		{&registry.Error{Kind: registry.KindCancelled}, 130},
		{context.Canceled, 130},
		{errTold(3), 3},
	} {
		var talk bytes.Buffer
		c := &cli{talk: &talk}
		if got := c.exit(ended, test.err); got != test.want {
			t.Errorf("%v: exit code %d, want %d", test.err, got, test.want)
		}
		_, told := errors.AsType[errTold](test.err)
		if silent := test.err == nil || told; silent != (talk.Len() == 0) {
			t.Errorf("%v: said %q", test.err, talk.String())
		}
	}
}

func TestFailuresAreToldInFull(t *testing.T) {
	for _, test := range []struct {
		err  registry.Error
		want string
	}{
		{registry.Error{Kind: registry.KindInternal, Message: "broken"}, "cupule: internal: broken\n"},
		{registry.Error{Kind: registry.KindDenied, Message: "no", Ran: registry.NotSent,
			Reasons: []effects.Reason{{Rule: effects.RuleOffline, At: effects.Position{File: "f", Line: 1, Column: 2}}}},
			"cupule: denied: no\n  offline: " + effects.Reason{Rule: effects.RuleOffline}.String() + " (f:1:2)\n  ran: not_sent\n"},
		{registry.Error{Kind: registry.KindInvalidParams, Message: "m", Problems: []registry.ParamProblem{{Path: "/a", Message: "wrong"}, {Message: "all"}}},
			"cupule: invalid_params: m\n  at \"/a\": wrong\n  at \"\": all\n"},
		{registry.Error{Kind: registry.KindTimeout, Message: "too slow", Phase: "call", Ran: registry.Sent, Limit: &registry.Limit{Name: "timeout", Seconds: 2}},
			"cupule: timeout: too slow\n  limit: timeout 2s\n  phase: call\n  ran: sent\n"},
		{registry.Error{Kind: registry.KindOutputTooLarge, Message: "large", Ran: registry.Completed, Limit: &registry.Limit{Name: "max_output", Bytes: 5, Whose: "caller x"}},
			"cupule: output_too_large: large\n  limit: max_output 5 bytes of caller x\n  ran: completed\n"},
	} {
		var talk bytes.Buffer
		c := &cli{talk: &talk}
		c.exit(t.Context(), &test.err)
		if diff := cmp.Diff(test.want, talk.String()); diff != "" {
			t.Errorf("%s: %s", test.err.Kind, diff)
		}
	}
}

func TestFailuresAsJSON(t *testing.T) {
	own := &jsonrpc2.Error{Code: 7, Message: "own"}
	for _, test := range []struct {
		err  error
		want string
	}{
		{&registry.Error{Kind: registry.KindDenied, Message: "no", Operation: "op", Ran: registry.NotSent,
			Reasons: []effects.Reason{{Rule: effects.RuleAuthorization, Effect: effects.Mutation, Subject: effects.Subject{Kind: effects.Tool, Name: "s/t"}}}},
			`{"code":-32001,"message":"no","data":{"kind":"denied","operation":"op","ran":"not_sent","reasons":[{"effect":"mutation","rule":"needs_authorization","subject":"tool s/t"}]}}`},
		{fmt.Errorf("wrapped: %w", &registry.Error{Kind: registry.KindUnavailable, Message: "m", Server: "s", Err: errors.New("cause\nof it"), Limit: &registry.Limit{Name: "startup", Seconds: 1}}),
			`{"code":-32006,"message":"m: cause\nof it","data":{"kind":"unavailable","server":"s","limit":{"name":"startup","seconds":1}}}`},
		{&registry.Error{Kind: registry.KindApplication, Message: "own", Err: own}, `{"code":7,"message":"own"}`},
		{usagef("wrong <word>"), `{"message":"wrong \u003cword\u003e","data":{"kind":"usage"}}`},
		{errReported, `{"message":"the tool reported an error","data":{"kind":"tool_error"}}`},
		{context.Canceled, `{"message":"context canceled","data":{"kind":"internal"}}`},
		{&config.Error{Problems: []config.Problem{{File: "f", Line: 1, Column: 2, Path: "mcp", Message: "wrong"}}},
			`{"message":"the configuration has problems","data":{"kind":"configuration","problems":[{"severity":"problem","at":"f:1:2","path":"mcp","message":"wrong"}]}}`},
		{&registry.BuildError{Problems: []registry.Problem{{Operation: "op", Key: "params", Message: "wrong"}}},
			`{"message":"the configuration has problems","data":{"kind":"configuration","problems":[{"severity":"problem","path":"operations.op.params","message":"wrong"}]}}`},
	} {
		var talk bytes.Buffer
		c := &cli{talk: &talk, output: "json"}
		c.exit(t.Context(), test.err)
		if diff := cmp.Diff(`{"error":`+test.want+"}\n", talk.String()); diff != "" {
			t.Errorf("%v: %s", test.err, diff)
		}
	}
}

func TestSizesAreExact(t *testing.T) {
	for n, want := range map[int64]string{1: "1 B", 999_999: "999999 B", 1000: "1 KB", 1024: "1 KiB", 256_000: "256 KB", 1 << 20: "1 MiB", 64 << 20: "64 MiB", 2_000_000: "2 MB"} {
		if got := size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestOutputForms(t *testing.T) {
	value := map[string]any{"b": []int{1}, "a": "x: <y>"}
	for form, want := range map[string]string{
		"json": "{\n  \"a\": \"x: <y>\",\n  \"b\": [\n    1\n  ]\n}\n",
		"yaml": "a: 'x: <y>'\nb:\n  - 1\n",
	} {
		var out bytes.Buffer
		c := &cli{out: &out, output: form}
		if err := c.print(value, nil); err != nil || out.String() != want {
			t.Errorf("%s: %q, %v", form, out.String(), err)
		}
	}
	if got := printable("a\x1b[2Jb\u009b\u7fff\x7f"); strings.ContainsAny(got, "\x1b\x7f\u009b") {
		t.Errorf("%q", got)
	}
}
