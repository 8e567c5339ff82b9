package effects

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

func TestEffectText(t *testing.T) {
	for e := range All() {
		var back Effect
		text, err := e.MarshalText()
		if err != nil || back.UnmarshalText(text) != nil || back != e {
			t.Errorf("%v: %s, %v, %v", e, text, err, back)
		}
	}
	if got := Effect(9).String(); got != "effect(9)" {
		t.Errorf("got %s", got)
	}
	var e Effect
	if err := e.UnmarshalText([]byte("Mutation")); err == nil {
		t.Error("a name in another case was accepted")
	}
	for range All() {
		break
	}
}

func TestSet(t *testing.T) {
	s := NewSet(Process, NetworkRead, NetworkRead, 0, 9)
	if s.Len() != 2 || !s.Has(Process) || s.Has(Mutation) || s.Has(0) || s.String() != "network_read, process" {
		t.Errorf("%v", s)
	}
	other := NewSet(Process, Mutation)
	if s.Union(other) != NewSet(NetworkRead, Mutation, Process) || s.Intersect(other) != NewSet(Process) ||
		s.Minus(other) != NewSet(NetworkRead) || s.Covers(other) || !s.Covers(NewSet(Process)) {
		t.Error("set algebra")
	}
	if Set(0).String() != "none" || Set(0).Names() == nil {
		t.Error("the empty set")
	}
	for range s.All() {
		break
	}
}

func TestSetForms(t *testing.T) {
	for bits := Set(0); bits <= everything; bits++ {
		var fromText, fromJSON, fromYAML Set
		text, err1 := bits.MarshalText()
		js, err2 := json.Marshal(bits)
		ya, err3 := yaml.Marshal(bits)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(fromText.UnmarshalText(text), json.Unmarshal(js, &fromJSON), yaml.Unmarshal(ya, &fromYAML)); err != nil {
			t.Fatal(err)
		}
		if fromText != bits || fromJSON != bits || fromYAML != bits {
			t.Errorf("%v: %s, %s, %s", bits, text, js, ya)
		}
	}
}

func TestSetRefuses(t *testing.T) {
	var s Set
	for name, err := range map[string]error{
		"text":        s.UnmarshalText([]byte("mutation,,inference")),
		"JSON string": json.Unmarshal([]byte(`"mutation"`), &s),
		"JSON null":   s.UnmarshalJSON([]byte("null")),
		"JSON name":   json.Unmarshal([]byte(`["mutations"]`), &s),
		"YAML map":    yaml.Unmarshal([]byte("{a: b}"), &s),
	} {
		if err == nil {
			t.Errorf("%s: accepted as %v", name, s)
		}
	}
	if s != 0 {
		t.Errorf("half read: %v", s)
	}
	if err := s.UnmarshalText([]byte(" mutation , inference ")); err != nil || s != NewSet(Mutation, Inference) {
		t.Errorf("%v, %v", s, err)
	}
}

func TestPattern(t *testing.T) {
	for _, text := range []string{"", "*a", "a*b", "a**"} {
		if _, err := ParsePattern(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"a", "a", true}, {"a", "A", false}, {"a", "", false}, {"", "", false},
		{"a*", "a", true}, {"a*", "abc", true}, {"*", "", true}, {"docs://*", "docs:/x", false},
	} {
		if Pattern(test.pattern).Matches(test.name) != test.want {
			t.Errorf("%q, %q: not %v", test.pattern, test.name, test.want)
		}
	}
	p, err := ParsePattern("docs://*")
	if err != nil || p.Exact() || !p.Closer("doc*") || p.Closer("docs://a*") || p.Closer("docs://a") || !Pattern("a").Closer(p) {
		t.Errorf("%v, %v", p, err)
	}
}

func TestInvocationNarrows(t *testing.T) {
	a := Authority{Principal: "p", Origin: "unix", Authorized: everything, Timeout: time.Minute, MaxOutput: 1000}
	inv := NewInvocation(a)
	for _, test := range []struct {
		name      string
		inv       Invocation
		timeout   time.Duration
		maxOutput int64
		held      Set
	}{
		{"as given", inv, time.Minute, 1000, everything},
		{"smaller", inv.WithTimeout(time.Second).WithMaxOutput(10), time.Second, 10, everything},
		{"larger", inv.WithTimeout(time.Hour).WithMaxOutput(1 << 40), time.Minute, 1000, everything},
		{"zero and less", inv.WithTimeout(0).WithTimeout(-1).WithMaxOutput(0).WithMaxOutput(-1), time.Minute, 1000, everything},
		{"first limit", NewInvocation(Authority{Timeout: -1, MaxOutput: -1}).WithTimeout(time.Hour).WithMaxOutput(5), time.Hour, 5, 0},
		{"without", inv.Without(NewSet(Mutation)), time.Minute, 1000, everything.Minus(NewSet(Mutation))},
		{"within", inv.Within("op", NewSet(Inference)), time.Minute, 0, NewSet(Inference)},
		{"within twice", inv.Within("op", NewSet(Inference)).Within("inner", everything), time.Minute, 0, NewSet(Inference)},
	} {
		got := []any{test.inv.Timeout(), test.inv.MaxOutput(), test.inv.Authorized(), test.inv.Principal(), test.inv.Origin()}
		want := []any{test.timeout, test.maxOutput, test.held, a.Principal, a.Origin}
		if test.name == "first limit" {
			want[3], want[4] = "", ""
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
	if inv.WithOffline().Offline() != true || inv.Offline() || inv.Within("op", 0).Operation() != "op" {
		t.Error("offline or operation")
	}
}
