package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cupule/cupule/effects"
	"github.com/google/go-cmp/cmp"
)

type subtraction struct {
	Minuend    int64 `json:"minuend" jsonschema:"what to subtract from"`
	Subtrahend int64 `json:"subtrahend,omitempty"`
}

func subtract(_ context.Context, _ *Call, p subtraction) (int64, error) {
	return p.Minuend - p.Subtrahend, nil
}

type mixed struct {
	I []int           `json:"i"`
	F float64         `json:"f"`
	R json.RawMessage `json:"r"`
	A any             `json:"a"`
	N json.Number     `json:"n"`
}

func TestTyped(t *testing.T) {
	r, _ := build(t,
		Typed(Operation{Name: "subtract"}, subtract),
		Typed(Operation{Name: "sum"}, func(_ context.Context, _ *Call, list []int64) (total int64, err error) {
			for _, n := range list {
				total += n
			}
			return total, nil
		}),
		Typed(Operation{Name: "raw"}, func(_ context.Context, _ *Call, p struct{ X json.RawMessage }) (any, error) { return p.X, nil }),
		Typed(Operation{Name: "fails"}, func(context.Context, *Call, struct{}) (int, error) { return 0, errors.New("x") }),
		Typed(Operation{Name: "html"}, func(context.Context, *Call, struct{}) (string, error) { return "<&>", nil }),
		Typed(Operation{Name: "unencodable"}, func(context.Context, *Call, struct{}) (any, error) { return func() {}, nil }),
		Typed(Operation{Name: "bytes"}, func(_ context.Context, _ *Call, p struct {
			B []byte `json:"b"`
		}) (any, error) {
			return p, nil
		}),
		Typed(Operation{Name: "mixed"}, func(_ context.Context, _ *Call, p mixed) (mixed, error) { return p, nil }),
		Typed(Operation{Name: "small"}, func(_ context.Context, _ *Call, p struct {
			N int8 `json:"n"`
		}) (int8, error) {
			return p.N, nil
		}),
	)
	for _, test := range []struct{ operation, params, want string }{
		{"subtract", `{"minuend":42,"subtrahend":23}`, "19"},
		{"subtract", `{"minuend":9007199254740993}`, "9007199254740993"},
		{"subtract", `[42,23]`, "19"},
		{"subtract", `[42]`, "42"},
		{"subtract", `[1,2,3]`, "invalid_params"},
		{"subtract", `{"minuend":1,"extra":2}`, "invalid_params"},
		{"subtract", `{"Minuend":1}`, "invalid_params"},
		{"subtract", `{"minuend":"1"}`, "invalid_params"},
		{"subtract", `{"minuend":1.5}`, "invalid_params"},
		{"subtract", ``, "invalid_params"},
		{"subtract", `[]`, "invalid_params"},
		{"sum", `[1,2,4]`, "7"},
		{"sum", ``, "0"},
		{"sum", `{}`, "invalid_params"},
		{"raw", `{"X":{"b":1.0,"a":2}}`, `{"b":1.0,"a":2}`},
		{"fails", ``, "internal"},
		{"fails", `[]`, "internal"},
		{"fails", `[1]`, "invalid_params"},
		{"html", `{}`, `"<&>"`},
		{"unencodable", `{}`, "internal"},
		{"bytes", `{"b":"AAEC"}`, `{"b":"AAEC"}`},
		{"bytes", `{"b":null}`, `{"b":null}`},
		{"bytes", `{"b":[1]}`, "invalid_params"},
		{"bytes", `{"b":"!"}`, "invalid_params"},
		{"small", `{"n":300}`, "invalid_params"},
		{"small", `{"n":100.0}`, "100"},
		{"small", `{"n":-1e2}`, "-100"},
		{"small", `{"n":-0.0}`, "0"},
		{"small", `{"n":1200e-1}`, "120"},
		{"small", `{"n":0e999999999999}`, "0"},
		{"small", `{"n":-0.00E-999999999999}`, "0"},
		{"small", `{"n":0.5e1}`, "5"},
		{"small", `{"n":1e2,"N":1}`, "invalid_params"},
		{"subtract", `[42.0,2.3e1]`, "19"},
		{"sum", `[1.0, 2e0 ,4]`, "7"},
		{"raw", `{"X":1.0}`, `1.0`},
		{"mixed", `{"i":[1.0],"f":1.0,"r":1.0,"a":1.0,"n":1.0}`, `{"i":[1],"f":1,"r":1.0,"a":1.0,"n":1.0}`},
	} {
		got, err := invoke(t, r, test.operation, test.params, effects.Authority{})
		if err != nil {
			got = string(err.Kind)
		}
		if got != test.want {
			t.Errorf("%s %s: got %s (%v), want %s", test.operation, test.params, got, err, test.want)
		}
	}
}

func TestMisfits(t *testing.T) {
	type params struct {
		N int64            `json:"n,omitempty"`
		U uint             `json:"u,omitempty"`
		F float32          `json:"f,omitempty"`
		L []map[string]int `json:"l,omitempty"`
		S struct {
			B []byte `json:"b"`
		} `json:"a.b,omitzero"`
	}
	pass := func(_ context.Context, _ *Call, p params) (params, error) { return p, nil }
	r, _ := build(t,
		Typed(Operation{Name: "derived"}, pass),
		Typed(Operation{Name: "stated", Params: json.RawMessage(`{"type": "object"}`)}, pass))
	const whole = ": write a whole number from -9223372036854775808 to 9223372036854775807"
	for _, test := range []struct{ operation, params, path, message string }{
		{"derived", `{"n":9223372036854775808}`, "/n", "the number 9223372036854775808 does not fit" + whole},
		{"derived", `{"n":1e30}`, "/n", "the number 1e30 does not fit" + whole},
		{"derived", `{"n":1e-400}`, "/n", tooLong},
		{"derived", `{"l":[{"a":-1E400}]}`, "/l/0/a", tooLong},
		{"derived", `{"f":0e9999999999999999999}`, "/f", tooLong},
		{"stated", `{"n":1e-400}`, "/n", "the number 1e-400 does not fit" + whole},
		{"derived", `{"u":1e20}`, "/u", "the number 1e20 does not fit: write a whole number from 0 to 18446744073709551615"},
		{"derived", `{"f":1e39}`, "/f", "the number 1e39 does not fit"},
		{"derived", `{"l":[{"a/b":1},{"a/b": 9e18 , "c/d": 1e20 }]}`, "/l/1/c~1d", "the number 1e20 does not fit" + whole},
		{"derived", `{"a.b":{"b":"!"}}`, "", "a value does not fit what the operation takes"},
		{"stated", `{"n":1.0}`, "/n", "the number 1.0 does not fit" + whole},
		{"stated", `{"n":"1"}`, "/n", "the value does not fit what the operation takes"},
		{"stated", `{"x":"1"}`, "", "the field 'x' is unknown: leave it out"},
		{"stated", `{"l":[{"x":0}],"a.b":{"\u00e4/":"}"}}`, "/a.b", "the field 'ä/' is unknown: leave it out"},
		{"stated", `{"l":[{"x":0}],"a.b":{"b":"AAAA","x":1}}`, "", "the field 'x' is unknown: leave it out"},
		{"stated", `{"` + strings.Repeat("x", 400) + `":1}`, "", "the field '" + strings.Repeat("x", maxProblemMessage) + "...' is unknown: leave it out"},
		{"stated", `{"n":` + strings.Repeat("1", 400) + `}`, "/n", "the number " + strings.Repeat("1", maxProblemMessage-11) + "..."},
	} {
		_, err := invoke(t, r, test.operation, test.params, effects.Authority{})
		wantKind(t, err, KindInvalidParams)
		if diff := cmp.Diff([]ParamProblem{{Path: test.path, Message: test.message}}, err.Problems); diff != "" {
			t.Errorf("%s %s\n%s", test.operation, test.params, diff)
		}
		if strings.Contains(err.Message, "Go") || strings.Contains(err.Message, "json") || err.Err == nil && test.message != tooLong {
			t.Errorf("%s, because of %v", err.Message, err.Err)
		}
	}
}

// A schema that is put in place of the derived one may let through what decoding must refuse.
func TestReplacedSchemasLeaveDecodingStrict(t *testing.T) {
	op := Typed(Operation{Name: "op"}, subtract)
	op.Params = nil
	r, _ := build(t, op)
	for _, params := range []string{`{"minuend":1,"extra":2}`, `{"minuend":1.5}`} {
		_, err := invoke(t, r, "op", params, effects.Authority{})
		wantKind(t, err, KindInvalidParams)
	}
}

func TestExactTypes(t *testing.T) {
	type embedded struct{ A int }
	for _, test := range []struct {
		value any
		want  bool
	}{
		{subtraction{}, true},
		{decoded{}, true},
		{[]map[string]*[2]subtraction{}, true},
		{time.Time{}, true},
		{struct {
			A int `json:"-"`
			b any
			C json.RawMessage
		}{}, true},
		{mixed{}, false},
		{[]any{}, false},
		{struct{ embedded }{}, false},
		{struct {
			A int `json:"B"`
			B int
		}{}, false},
		{struct {
			A int `json:"a b"`
		}{}, false},
		{struct{ A []struct{ B any } }{}, false},
	} {
		if got := isExact(reflect.TypeOf(test.value)); got != test.want {
			t.Errorf("%T: %v", test.value, got)
		}
	}
}

func TestTypedKeepsStatedSchemas(t *testing.T) {
	type tree struct {
		Children []tree `json:"children"`
	}
	stated := json.RawMessage(`{"type":"object"}`)
	op := Typed(Operation{Name: "op", Params: stated, Result: stated}, func(_ context.Context, _ *Call, p tree) (tree, error) { return p, nil })
	if string(op.Params) != string(stated) || string(op.Result) != string(stated) || op.problem != nil {
		t.Errorf("%+v", op)
	}
	derived := Typed(Operation{Name: "op"}, func(_ context.Context, _ *Call, p tree) (int, error) { return 0, nil })
	if derived.problem == nil {
		t.Error("a schema was derived from a type that holds itself")
	}
}

func TestErrorTextAndCodes(t *testing.T) {
	cause := errors.New("cause")
	e := &Error{Kind: KindTimeout, Message: "m", Err: cause, Stderr: "tail"}
	if got := e.Error(); got != "m: cause; its standard error ends with: tail" || !errors.Is(e, cause) {
		t.Error(got)
	}
	if (&Error{Kind: KindDenied}).Error() != "denied" {
		t.Error("kind as text")
	}
	if KindApplication.Code() != -32603 || KindTimeout.Code() != -32004 || KindCancelled.Code() != -32800 {
		t.Error("codes")
	}
	for _, test := range []struct {
		limit Limit
		want  string
	}{
		{Limit{Name: "timeout", Whose: "tool s/t", Seconds: 1.5}, "timeout 1.5s of tool s/t"},
		{Limit{Name: "max_output", Bytes: 10}, "max_output 10 bytes"},
		{Limit{Name: "pages", Count: 64}, "pages 64"},
	} {
		if got := test.limit.String(); got != test.want {
			t.Error(got)
		}
	}
}

func TestLogObserver(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	r, err := New([]Operation{
		{Name: "ok", Handler: echo},
		{Name: "mutate", Handler: echo, Effects: effects.NewSet(effects.Mutation)},
		{Name: "boom", Handler: returns("", errors.New("the cause"))},
	}, &Options{Observer: LogObserver(logger)})
	if err != nil {
		t.Fatal(err)
	}
	a := effects.Authority{Principal: "p", Origin: "unix"}
	for _, name := range []string{"ok", "mutate", "boom"} {
		invoke(t, r, name, `{"secret":"s3cret"}`, a)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	for i, want := range []string{"level=INFO msg=call kind=operation name=ok outcome=ok principal=p origin=unix", "level=WARN", "level=ERROR"} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("%s\nlacks %s", lines[i], want)
		}
	}
	if !strings.Contains(lines[1], "needs_authorization") && !strings.Contains(lines[1], "not authorized") {
		t.Error(lines[1])
	}
	if !strings.Contains(lines[2], "the cause") || strings.Contains(log.String(), "s3cret") {
		t.Error(log.String())
	}
	if logger := slog.New(slog.DiscardHandler); logger != nil {
		LogObserver(logger).Observe(t.Context(), Event{})
	}
}
