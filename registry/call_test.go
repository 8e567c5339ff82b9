package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cupule/cupule/effects"
	"github.com/google/go-cmp/cmp"
)

// TestWhatHandlersSee looks at each call through its handler.
func TestWhatHandlersSee(t *testing.T) {
	tool := &Upstream{Server: "s", Tool: "t", MaxOutput: 500, Transport: effects.Stdio}
	for _, test := range []struct {
		name      string
		op        Operation
		authority effects.Authority
		limit     Limit
		rights    effects.Set
	}{
		{"defaults", Operation{}, effects.Authority{}, Limit{Name: "max_output", Whose: "operation op", Bytes: DefaultMaxOutput}, 0},
		{"of the operation", Operation{MaxOutput: 700}, effects.Authority{MaxOutput: 800}, Limit{Name: "max_output", Whose: "operation op", Bytes: 700}, 0},
		{"of the tool", Operation{MaxOutput: 700, Upstream: tool}, effects.Authority{MaxOutput: 800}, Limit{Name: "max_output", Whose: "tool s/t", Bytes: 500}, 0},
		{"of a caller", Operation{Upstream: tool}, effects.Authority{MaxOutput: 300, Principal: "p"}, Limit{Name: "max_output", Whose: "caller p", Bytes: 300}, 0},
		{"of a caller without a name", Operation{}, effects.Authority{MaxOutput: 300}, Limit{Name: "max_output", Whose: "caller", Bytes: 300}, 0},
		{"rights beyond the operation's", Operation{Effects: effects.NewSet(effects.Mutation), MaxOutput: 1}, effects.Authority{Authorized: effects.NewSet(effects.Mutation, effects.Inference)},
			Limit{Name: "max_output", Whose: "operation op", Bytes: 1}, effects.NewSet(effects.Mutation)},
	} {
		op := test.op
		op.Name = "op"
		op.Handler = func(_ context.Context, call *Call) (json.RawMessage, error) {
			if diff := cmp.Diff(test.limit, call.OutputLimit()); diff != "" || call.Operation != "op" || call.Params != nil {
				t.Errorf("%s: %s, parameters %s: %s", test.name, call.Operation, call.Params, diff)
			}
			for e := effects.NetworkRead; e <= effects.Process; e++ {
				s := effects.Subject{Kind: effects.Tool, Name: "s/t", Effects: effects.NewSet(e)}
				if got := effects.Decide(s, call.Invocation()).Allowed; got != test.rights.Has(e) {
					t.Errorf("%s: a tool with %v is allowed: %v", test.name, e, got)
				}
			}
			if call.WantsProgress() {
				t.Errorf("%s: somebody wants progress", test.name)
			}
			return json.RawMessage("1"), nil
		}
		r, _ := build(t, op)
		if _, err := invoke(t, r, "op", "", test.authority); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// TestNestedCalls passes peer and caller on to the events of calls within calls, and not progress.
func TestNestedCalls(t *testing.T) {
	outer := Operation{Name: "outer", Handler: func(ctx context.Context, call *Call) (json.RawMessage, error) {
		if !call.WantsProgress() {
			t.Error("nobody wants progress")
		}
		call.Progress(Progress{Progress: 1})
		return call.Invoke(ctx, "inner", json.RawMessage(`{"a":1}`))
	}}
	inner := Operation{Name: "inner", Handler: func(_ context.Context, call *Call) (json.RawMessage, error) {
		call.Progress(Progress{Progress: 2})
		return call.Params, nil
	}}
	r, seen := build(t, outer, inner)
	var told []float64
	result, err := r.Invoke(t.Context(), Request{Operation: "outer", Peer: "pid 1", Invocation: effects.NewInvocation(effects.Authority{Principal: "p", Origin: "unix"}),
		Progress: func(p Progress) { told = append(told, p.Progress) }})
	if err != nil || string(result) != `{"a":1}` || fmt.Sprint(told) != "[1]" {
		t.Errorf("%s, %v, told of %v", result, err, told)
	}
	var got []string
	for _, e := range seen.events {
		got = append(got, fmt.Sprintln(e.Subject, e.Peer, e.Invocation.Principal(), e.Invocation.Origin(), e.Invocation.Operation(), e.ParamsBytes, e.ResultBytes))
	}
	want := []string{"operation inner pid 1 p unix outer 7 7\n", "operation outer pid 1 p unix  0 7\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestHandlersErrorsKeepTheirCause wraps errors as handlers do: the log gets all of it.
func TestHandlersErrorsKeepTheirCause(t *testing.T) {
	own := &Error{Kind: KindTimeout, Message: "slow", Operation: "other", Limit: &Limit{Name: "timeout"}, Ran: Sent}
	plain := errors.New("plain")
	for name, err := range map[string]error{
		"own": own, "own, wrapped": fmt.Errorf("around: %w", own), "plain": plain, "plain, wrapped": fmt.Errorf("around: %w", plain),
	} {
		r, _ := build(t, Operation{Name: "op", Handler: returns("", err)})
		_, failure := invoke(t, r, "op", "", effects.Authority{})
		if !strings.HasPrefix(name, "own") {
			wantKind(t, failure, KindInternal)
		} else if wantKind(t, failure, KindTimeout); failure.Message != "slow" || failure.Operation != "other" || failure.Ran != Sent || failure.Limit == nil {
			t.Errorf("%s: %+v", name, failure)
		}
		if strings.Contains(name, "wrapped") != strings.Contains(failure.Error(), "around: ") || strings.Contains(failure.Message, "around") {
			t.Errorf("%s: %v", name, failure)
		}
	}
}

// TestConcurrentCalls calls one registry from many goroutines, each with its own authority.
func TestConcurrentCalls(t *testing.T) {
	var denied, done atomic.Int32
	r, err := New([]Operation{
		Typed(Operation{Name: "typed"}, subtract),
		{Name: "mutate", Handler: echo, Effects: effects.NewSet(effects.Mutation), Params: json.RawMessage(`{"type":"object","properties":{"n":{"pattern":"x"}}}`)},
	}, &Options{Observer: LogObserver(slog.New(slog.DiscardHandler))})
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for i := range 16 {
		wait.Go(func() {
			a := effects.Authority{Principal: fmt.Sprint(i)}
			if i%2 == 0 {
				a.Authorized = effects.NewSet(effects.Mutation)
			}
			for n := range 50 {
				params := json.RawMessage(fmt.Sprintf(`{"minuend":%d.0,"subtrahend":%d}`, n, i))
				result, err := r.Invoke(t.Context(), Request{Operation: "typed", Params: params})
				if err != nil || string(result) != fmt.Sprint(n-i) {
					t.Errorf("%s: %s, %v", params, result, err)
				}
				if _, err := r.Invoke(t.Context(), Request{Operation: "mutate", Params: json.RawMessage(`{}`), Invocation: effects.NewInvocation(a)}); err != nil {
					denied.Add(1)
				} else {
					done.Add(1)
				}
			}
		})
	}
	if wait.Wait(); denied.Load() != 400 || done.Load() != 400 {
		t.Errorf("%d denied, %d done", denied.Load(), done.Load())
	}
}

// TestPositionalNames says in which order parameters may be given by position.
func TestPositionalNames(t *testing.T) {
	type pair struct {
		B int `json:"b"`
		A int `json:"a,omitempty"`
		c int
		D int `json:"-"`
	}
	first := func(_ context.Context, _ *Call, p *pair) (int, error) { return p.B*10 + p.A + p.c, nil }
	r, _ := build(t, Operation{Name: "raw", Handler: echo},
		Typed(Operation{Name: "pointer"}, first),
		Typed(Operation{Name: "nothing"}, func(context.Context, *Call, struct{}) (int, error) { return 0, nil }),
		Typed(Operation{Name: "list"}, func(context.Context, *Call, []int) (int, error) { return 0, nil }))
	for name, want := range map[string][]string{"raw": nil, "pointer": {"b", "a"}, "nothing": {}, "list": nil} {
		op, _ := r.Lookup(name)
		if diff := cmp.Diff(want, op.Positional()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for i := range op.Positional() {
			op.Positional()[i] = "changed"
		}
	}
	if got, err := invoke(t, r, "pointer", `[1,2]`, effects.Authority{}); err != nil || got != "12" {
		t.Errorf("%s, %v", got, err)
	}
}

// TestLoggedEvents writes everything that an event holds and nothing that it lacks.
func TestLoggedEvents(t *testing.T) {
	subject := effects.Subject{Kind: effects.Tool, Name: "s/t"}
	inv := effects.NewInvocation(effects.Authority{Principal: "p", Origin: "tcp"})
	reason := effects.Reason{Rule: effects.RuleOffline, Subject: subject, At: effects.Position{File: "f", Line: 1, Column: 2}}
	const begin = "kind=tool name=s/t outcome=%s principal=p origin=tcp duration=2ms params_bytes=3 result_bytes=4"
	for _, test := range []struct {
		event Event
		level string
		want  string
	}{
		{Event{}, "INFO", fmt.Sprintf(begin, "ok")},
		{Event{Peer: "127.0.0.1:9", IsError: true}, "INFO", fmt.Sprintf(begin, "ok") + " peer=127.0.0.1:9 is_error=true"},
		{Event{Invocation: inv.Within("op", 0)}, "INFO", fmt.Sprintf(begin, "ok") + " within=op"},
		{Event{Err: &Error{Kind: KindTimeout, Message: "slow", Phase: "call", Ran: Sent}}, "WARN", fmt.Sprintf(begin, "timeout") + " error=slow ran=sent phase=call"},
		{Event{Err: &Error{Kind: KindDenied, Message: "no", Reasons: []effects.Reason{reason}}}, "WARN",
			fmt.Sprintf(begin, "denied") + ` error=no reasons="` + effects.Decision{Reasons: []effects.Reason{reason}}.String() + `"`},
		{Event{Err: &Error{Kind: KindInternal, Message: "m", Err: errors.New("cause"), Stderr: "tail"}}, "ERROR",
			fmt.Sprintf(begin, "internal") + ` error="m: cause; its standard error ends with: tail"`},
	} {
		var log bytes.Buffer
		e := test.event
		e.Subject, e.Duration, e.ParamsBytes, e.ResultBytes = subject, 2*time.Millisecond, 3, 4
		if e.Invocation.Principal() == "" {
			e.Invocation = inv
		}
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
		LogObserver(logger).Observe(t.Context(), e)
		if diff := cmp.Diff("level="+test.level+" msg=call "+test.want+"\n", log.String()); diff != "" {
			t.Error(diff)
		}
	}
}
