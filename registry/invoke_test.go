package registry

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cupule/cupule/effects"
	"github.com/google/go-cmp/cmp"
	"github.com/sourcegraph/jsonrpc2"
)

func echo(_ context.Context, call *Call) (json.RawMessage, error) { return call.Params, nil }

func returns(result string, err error) Handler {
	return func(context.Context, *Call) (json.RawMessage, error) { return json.RawMessage(result), err }
}

// build returns a registry of these operations and the events that it records.
func build(t *testing.T, operations ...Operation) (*Registry, *recorder) {
	t.Helper()
	events := &recorder{}
	r, err := New(operations, &Options{Observer: events})
	if err != nil {
		t.Fatal(err)
	}
	return r, events
}

type recorder struct{ events []Event }

func (r *recorder) Observe(_ context.Context, e Event) { r.events = append(r.events, e) }

func invoke(t *testing.T, r *Registry, name, params string, a effects.Authority) (string, *Error) {
	t.Helper()
	req := Request{Operation: name, Invocation: effects.NewInvocation(a)}
	if params != "" {
		req.Params = json.RawMessage(params)
	}
	result, err := r.Invoke(t.Context(), req)
	if err == nil {
		return string(result), nil
	}
	failure, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("%T is no *Error: %v", err, err)
	}
	return "", failure
}

func wantKind(t *testing.T, err *Error, kind Kind) {
	t.Helper()
	if err == nil || err.Kind != kind {
		t.Fatalf("got %v, want kind %s", err, kind)
	}
}

func TestInvokePassesParamsAndResultUnchanged(t *testing.T) {
	r, events := build(t, Operation{Name: "echo", Handler: echo})
	for _, params := range []string{`{"b":9007199254740993,"a":1.0}`, `[1, 2]`, `{}`, ""} {
		want := params
		if want == "" {
			want = "null"
		}
		if got, err := invoke(t, r, "echo", params, effects.Authority{}); err != nil || got != want {
			t.Errorf("%s: %s, %v", params, got, err)
		}
	}
	if len(events.events) != 4 || events.events[0].Outcome() != "ok" || events.events[0].ResultBytes != 30 {
		t.Errorf("%+v", events.events)
	}
}

func TestDenialComesBeforeParameters(t *testing.T) {
	called := false
	r, events := build(t, Operation{
		Name: "mutate", Effects: effects.NewSet(effects.Mutation), Params: json.RawMessage(`{"required":["x"]}`),
		Handler: func(context.Context, *Call) (json.RawMessage, error) { called = true; return nil, nil },
	})
	_, err := invoke(t, r, "mutate", `not even JSON`, effects.Authority{Principal: "p"})
	wantKind(t, err, KindDenied)
	if called || len(err.Reasons) != 1 || err.Reasons[0].Rule != effects.RuleAuthorization {
		t.Errorf("called %v, %+v", called, err)
	}
	_, err = invoke(t, r, "mutate", `{}`, effects.Authority{Authorized: effects.NewSet(effects.Mutation)})
	wantKind(t, err, KindInvalidParams)
	_, err = invoke(t, r, "nothing", `{}`, effects.Authority{})
	wantKind(t, err, KindMethodNotFound)
	var outcomes []string
	for _, e := range events.events {
		outcomes = append(outcomes, e.Subject.Name+" "+e.Outcome())
	}
	if diff := cmp.Diff([]string{"mutate denied", "mutate invalid_params", "nothing method_not_found"}, outcomes); diff != "" {
		t.Error(diff)
	}
}

func TestUpstreamIsDecidedToo(t *testing.T) {
	op := Operation{Name: "op", Handler: echo, Upstream: &Upstream{Server: "s", Tool: "t", Transport: effects.StreamableHTTP}}
	r, _ := build(t, op)
	_, err := invoke(t, r, "op", "{", effects.Authority{Offline: true})
	wantKind(t, err, KindDenied)
	if got := err.Reasons[0].String(); got != "streamable HTTP transport s is unavailable offline" {
		t.Error(got)
	}
	if _, err := invoke(t, r, "op", "{}", effects.Authority{}); err != nil {
		t.Error(err)
	}
}

func TestNestedCallsStayWithinTheOperation(t *testing.T) {
	outer := Operation{Name: "outer", Effects: effects.NewSet(effects.NetworkRead),
		Handler: func(ctx context.Context, call *Call) (json.RawMessage, error) {
			return call.Invoke(ctx, "inner", call.Params)
		}}
	inner := Operation{Name: "inner", Effects: effects.NewSet(effects.Mutation), Handler: echo}
	r, events := build(t, outer, inner)
	all := effects.Authority{Authorized: effects.NewSet(effects.Mutation)}
	_, err := invoke(t, r, "outer", "{}", all)
	wantKind(t, err, KindDenied)
	if err.Operation != "inner" || err.Reasons[0].Rule != effects.RuleOutside || err.Reasons[0].Operation != "outer" {
		t.Errorf("%+v", err)
	}
	if _, err := invoke(t, r, "inner", "{}", all); err != nil {
		t.Error(err)
	}
	if len(events.events) != 3 || events.events[0].Subject.Name != "inner" {
		t.Errorf("%+v", events.events)
	}
}

func TestOperationsThatCallThemselves(t *testing.T) {
	deepest := 0
	r, _ := build(t, Operation{Name: "loop", Handler: func(ctx context.Context, call *Call) (json.RawMessage, error) {
		deepest = max(deepest, call.depth)
		return call.Invoke(ctx, "loop", nil)
	}})
	_, err := invoke(t, r, "loop", "", effects.Authority{})
	wantKind(t, err, KindInternal)
	if deepest != MaxNesting {
		t.Errorf("went %d deep", deepest)
	}
}

func TestErrorsOfHandlers(t *testing.T) {
	nested := &Error{Kind: KindDenied, Operation: "other", Message: "no"}
	for name, test := range map[string]struct {
		err  error
		kind Kind
	}{
		"plain":                   {errors.New("secret path"), KindInternal},
		"application":             {&jsonrpc2.Error{Code: 7, Message: "m"}, KindApplication},
		"application, wrapped":    {errors.Join(&jsonrpc2.Error{Code: -31999}), KindApplication},
		"reserved code":           {&jsonrpc2.Error{Code: -32601}, KindInternal},
		"lowest reserved code":    {&jsonrpc2.Error{Code: -32768}, KindInternal},
		"below the reserved":      {&jsonrpc2.Error{Code: -32769}, KindApplication},
		"own invalid_params":      {&Error{Kind: KindInvalidParams, Message: "m"}, KindInvalidParams},
		"nested denied":           {nested, KindDenied},
		"nested invalid_params":   {&Error{Kind: KindInvalidParams, Operation: "other"}, KindInternal},
		"nested method_not_found": {unknown("other"), KindInternal},
		"context, not ended":      {context.Canceled, KindInternal},
		"no kind":                 {&Error{Message: "m"}, KindInternal},
	} {
		r, _ := build(t, Operation{Name: "op", Handler: returns("", test.err)})
		_, err := invoke(t, r, "op", "", effects.Authority{})
		if err == nil || err.Kind != test.kind {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if strings.Contains(err.Message, "secret") {
			t.Errorf("%s: the cause is in the message", name)
		}
		if !errors.Is(err, test.err) && err.Kind != KindApplication && err.Kind != test.kind {
			t.Errorf("%s: the cause is lost: %v", name, err)
		}
	}
}

func TestPanicBecomesInternal(t *testing.T) {
	r, events := build(t, Operation{Name: "boom", Handler: func(context.Context, *Call) (json.RawMessage, error) { panic("secret") }})
	_, err := invoke(t, r, "boom", "", effects.Authority{})
	wantKind(t, err, KindInternal)
	if strings.Contains(err.Message, "secret") || !strings.Contains(err.Error(), "secret") || len(events.events) != 1 {
		t.Errorf("message %q, error %v", err.Message, err)
	}
}

func TestOutputLimits(t *testing.T) {
	result := `"` + strings.Repeat("x", 98) + `"`
	tool := &Upstream{Server: "s", Tool: "t", MaxOutput: 50, Transport: effects.Stdio}
	for _, test := range []struct {
		name   string
		op     Operation
		caller int64
		whose  string
	}{
		{"operation", Operation{MaxOutput: 99}, 0, "operation op"},
		{"exactly", Operation{MaxOutput: 100}, 100, ""},
		{"caller", Operation{MaxOutput: 99}, 98, "caller p"},
		{"tool", Operation{MaxOutput: 99, Upstream: tool}, 98, "tool s/t"},
		{"default", Operation{}, 0, ""},
	} {
		test.op.Name, test.op.Handler = "op", returns(result, nil)
		r, _ := build(t, test.op)
		_, err := invoke(t, r, "op", "", effects.Authority{Principal: "p", MaxOutput: test.caller})
		if test.whose == "" {
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		wantKind(t, err, KindOutputTooLarge)
		if err.Limit.Whose != test.whose || err.Limit.Name != "max_output" || err.Ran != Completed {
			t.Errorf("%s: %+v", test.name, err.Limit)
		}
	}
}

func TestErrorsAreBoundedToo(t *testing.T) {
	data := json.RawMessage(`"` + strings.Repeat("x", 100) + `"`)
	for _, test := range []struct {
		err  error
		kind Kind
	}{
		{&jsonrpc2.Error{Code: 7, Message: strings.Repeat("x", 50)}, KindApplication},
		{&jsonrpc2.Error{Code: 7, Message: strings.Repeat("x", 51)}, KindOutputTooLarge},
		{&jsonrpc2.Error{Code: 7, Message: "m", Data: &data}, KindOutputTooLarge},
		{&Error{Kind: KindDenied, Message: strings.Repeat("x", 51)}, KindDenied},
	} {
		r, _ := build(t, Operation{Name: "op", Handler: returns("", test.err), MaxOutput: 50})
		_, err := invoke(t, r, "op", "", effects.Authority{})
		wantKind(t, err, test.kind)
	}
}

func TestInvalidResultIsInternal(t *testing.T) {
	for _, result := range []string{"{", "", "1 2", `{"a":`} {
		r, _ := build(t, Operation{Name: "op", Handler: returns(result, nil)})
		_, err := invoke(t, r, "op", "", effects.Authority{})
		wantKind(t, err, KindInternal)
	}
}

func waits(ctx context.Context, _ *Call) (json.RawMessage, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestTimeouts(t *testing.T) {
	tool := &Upstream{Server: "s", Tool: "t", Timeout: 2 * time.Second, Transport: effects.Stdio}
	for _, test := range []struct {
		name   string
		op     Operation
		caller time.Duration
		after  time.Duration
		whose  string
	}{
		{"default", Operation{}, 0, DefaultTimeout, "operation op"},
		{"operation", Operation{Timeout: time.Second}, time.Minute, time.Second, "operation op"},
		{"caller", Operation{Timeout: time.Minute}, 500 * time.Millisecond, 500 * time.Millisecond, "caller p"},
		{"tool", Operation{Timeout: time.Minute, Upstream: tool}, 0, 2 * time.Second, "tool s/t"},
	} {
		synctest.Test(t, func(t *testing.T) {
			test.op.Name, test.op.Handler = "op", waits
			r, _ := build(t, test.op)
			begun := time.Now()
			_, err := invoke(t, r, "op", "", effects.Authority{Principal: "p", Timeout: test.caller})
			wantKind(t, err, KindTimeout)
			if took := time.Since(begun); took != test.after || err.Limit.Whose != test.whose || err.Limit.Seconds != test.after.Seconds() {
				t.Errorf("%s: after %v, %+v", test.name, took, err.Limit)
			}
		})
	}
}

func TestDeadlinesNest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outer := Operation{Name: "outer", Timeout: time.Second, Handler: func(ctx context.Context, call *Call) (json.RawMessage, error) {
			return call.Invoke(ctx, "inner", nil)
		}}
		r, _ := build(t, outer, Operation{Name: "inner", Timeout: time.Minute, Handler: waits})
		begun := time.Now()
		_, err := invoke(t, r, "outer", "", effects.Authority{})
		wantKind(t, err, KindTimeout)
		if time.Since(begun) != time.Second || err.Limit.Whose != "operation outer" {
			t.Errorf("after %v, %+v", time.Since(begun), err.Limit)
		}
	})
}

func TestLateResultIsATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := build(t, Operation{Name: "late", Timeout: time.Second, Handler: func(ctx context.Context, _ *Call) (json.RawMessage, error) {
			<-ctx.Done()
			return json.RawMessage("true"), nil
		}})
		_, err := invoke(t, r, "late", "", effects.Authority{})
		wantKind(t, err, KindTimeout)
		if err.Ran != Sent {
			t.Errorf("ran %q", err.Ran)
		}
	})
}

func TestCallersContext(t *testing.T) {
	called := false
	r, _ := build(t, Operation{Name: "op", Handler: func(context.Context, *Call) (json.RawMessage, error) { called = true; return nil, nil }},
		Operation{Name: "wait", Handler: waits})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.Invoke(ctx, Request{Operation: "op"})
	failure, _ := errors.AsType[*Error](err)
	wantKind(t, failure, KindCancelled)
	if called || failure.Ran != NotSent {
		t.Errorf("called %v, ran %s", called, failure.Ran)
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = r.Invoke(ctx, Request{Operation: "wait"})
	failure, _ = errors.AsType[*Error](err)
	wantKind(t, failure, KindTimeout)
	if failure.Limit.Whose != "caller" {
		t.Errorf("%+v", failure.Limit)
	}
}

func TestProgress(t *testing.T) {
	r, _ := build(t, Operation{Name: "op", Handler: func(_ context.Context, call *Call) (json.RawMessage, error) {
		call.Progress(Progress{Progress: 1, Total: 2, Message: "half"})
		return nil, nil
	}})
	var got []Progress
	req := Request{Operation: "op", Progress: func(p Progress) { got = append(got, p) }}
	if _, err := r.Invoke(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Invoke(t.Context(), Request{Operation: "op"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Progress{{Progress: 1, Total: 2, Message: "half"}}, got); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkInvoke(b *testing.B) {
	type text struct {
		Text string `json:"text"`
	}
	typed := Typed(Operation{}, func(_ context.Context, _ *Call, t text) (text, error) { return t, nil })
	for name, op := range map[string]Operation{
		"typed": typed, "schema": {Params: typed.Params, Handler: echo}, "raw": {Handler: echo},
	} {
		op.Name = "op"
		r, err := New([]Operation{op}, nil)
		if err != nil {
			b.Fatal(err)
		}
		req := Request{Operation: "op", Params: json.RawMessage(`{"text":"` + strings.Repeat("x", 200) + `"}`)}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Invoke(b.Context(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
