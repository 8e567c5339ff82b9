package effects

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rulings is the oracle: what each rule says of one effect, written down as a table of
// words and not with the sets that Decide computes with.
func rulings(effect string, offline bool, held, ceiling []string) []string {
	var list []string
	switch effect {
	case "credentials", "process":
		list = append(list, effect+" unavailable")
	case "mutation", "inference":
		if !slices.Contains(held, effect) {
			list = append(list, effect+" needs_authorization")
		}
	case "network_read":
		if offline {
			list = append(list, effect+" offline")
		}
	}
	if !slices.Contains(ceiling, effect) {
		list = append(list, effect+" outside_operation")
	}
	return list
}

func oracle(kind Kind, declared []string, offline bool, held, ceiling []string) []string {
	var list []string
	switch kind {
	case Operation, Tool, Resource, Prompt, Stdio:
	case StreamableHTTP:
		if offline {
			list = append(list, "- offline")
		}
	default:
		list = append(list, "- unknown_subject")
	}
	for _, effect := range []string{"network_read", "mutation", "inference", "credentials", "process"} {
		if slices.Contains(declared, effect) {
			list = append(list, rulings(effect, offline, held, ceiling)...)
		}
	}
	return list
}

func told(d Decision) []string {
	var list []string
	for _, r := range d.Reasons {
		effect := "-"
		if r.Effect != 0 {
			effect = r.Effect.String()
		}
		list = append(list, effect+" "+string(r.Rule))
	}
	return list
}

func TestDecideAgainstOracle(t *testing.T) {
	var names [everything + 1][]string
	for s := range names {
		names[s] = Set(s).Names()
	}
	for kind := Kind(0); kind <= lastKind+1; kind++ {
		for declared := Set(0); declared <= everything; declared++ {
			for held := Set(0); held <= everything; held++ {
				for ceiling := Set(0); ceiling <= everything; ceiling++ {
					for _, offline := range []bool{false, true} {
						want := oracle(kind, names[declared], offline, names[held], names[ceiling])
						compare(t, kind, declared, held, ceiling, offline, want)
					}
				}
			}
		}
	}
}

func compare(t *testing.T, kind Kind, declared, held, ceiling Set, offline bool, want []string) {
	t.Helper()
	inv := NewInvocation(Authority{Authorized: held, Offline: offline}).Within("outer", ceiling)
	d := Decide(Subject{Kind: kind, Name: "x", Effects: declared}, inv)
	if got := told(d); !slices.Equal(got, want) || d.Allowed != (len(want) == 0) {
		t.Fatalf("kind %v, effects %v, held %v, ceiling %v, offline %v:\n got %v (allowed %v)\nwant %v",
			kind, declared, held, ceiling, offline, got, d.Allowed, want)
	}
}

func TestZeroValues(t *testing.T) {
	if (Decision{}).Allowed {
		t.Error("the zero Decision allows")
	}
	if Decide(Subject{}, Invocation{}).Allowed {
		t.Error("the zero Subject is allowed")
	}
	var zero Invocation
	if zero.Offline() || zero.Authorized() != 0 || zero.Timeout() != 0 || zero.MaxOutput() != 0 {
		t.Errorf("the zero Invocation is not online with nothing authorized: %+v", zero)
	}
	if !Decide(Subject{Kind: Tool, Effects: NewSet(NetworkRead)}, zero).Allowed {
		t.Error("the zero Invocation can't read from the network")
	}
	if Decide(Subject{Kind: Tool, Effects: NewSet(Mutation)}, zero).Allowed {
		t.Error("the zero Invocation may mutate")
	}
}

func TestUnknownBitsAreDenied(t *testing.T) {
	all := NewInvocation(Authority{Authorized: 0xff})
	for bit := Set(everything + 1); bit != 0; bit <<= 1 {
		d := Decide(Subject{Kind: Tool, Effects: bit}, all)
		if d.Allowed || len(d.Reasons) != 1 || d.Reasons[0].Rule != RuleUnavailable {
			t.Errorf("bit %#x: %v", uint8(bit), d)
		}
	}
}

func TestOperationsOfTheCaller(t *testing.T) {
	for _, test := range []struct {
		patterns []Pattern
		name     string
		want     bool
	}{
		{nil, "a.b", true},
		{[]Pattern{}, "a.b", false},
		{[]Pattern{"a.b"}, "a.b", true},
		{[]Pattern{"a.b"}, "a.bc", false},
		{[]Pattern{"a.*"}, "a.b", true},
		{[]Pattern{"a.*"}, "ab", false},
		{[]Pattern{"x", "*"}, "a.b", true},
	} {
		inv := NewInvocation(Authority{Operations: test.patterns})
		d := Decide(Subject{Kind: Operation, Name: test.name}, inv)
		if d.Allowed != test.want {
			t.Errorf("%v, %s: %v", test.patterns, test.name, d)
		}
		if !d.Allowed && d.Reasons[0].Rule != RuleOperations {
			t.Errorf("%v, %s: rule %s", test.patterns, test.name, d.Reasons[0].Rule)
		}
		if !Decide(Subject{Kind: Operation, Name: test.name}, inv.Within("outer", 0)).Allowed {
			t.Errorf("%v: the list also bounds what an operation calls", test.patterns)
		}
		if !Decide(Subject{Kind: Tool, Name: test.name}, inv).Allowed {
			t.Errorf("%v: the list of operations also bounds tools", test.patterns)
		}
	}
}

func TestOperationsAreCopied(t *testing.T) {
	list := []Pattern{"a"}
	inv := NewInvocation(Authority{Operations: list})
	list[0] = "*"
	if Decide(Subject{Kind: Operation, Name: "b"}, inv).Allowed {
		t.Error("changing the caller's slice widened the invocation")
	}
}

func TestReasonsReadWell(t *testing.T) {
	at := Positions{Mutation: {"app.yaml", 14, 9}}
	subject := Subject{Kind: Tool, Name: "s/t", Effects: everything, Declared: &at}
	inv := NewInvocation(Authority{Offline: true}).Within("op", NewSet(NetworkRead, Inference, Credentials, Process))
	got := Decide(subject, inv).String()
	want := "denied: tool s/t has the effect network_read, and the call is offline; " +
		"tool s/t has the effect mutation, which the caller is not authorized for (app.yaml:14:9); " +
		"tool s/t has the effect mutation, which operation op does not declare (app.yaml:14:9); " +
		"tool s/t has the effect inference, which the caller is not authorized for; " +
		"tool s/t has the effect credentials, which is never available; " +
		"tool s/t has the effect process, which is never available"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, test := range []struct {
		subject Subject
		inv     Invocation
		want    string
	}{
		{Subject{Kind: Tool}, Invocation{}, "allowed"},
		{Subject{Name: "x"}, Invocation{}, "denied: unknown subject x is nothing that can be called"},
		{Subject{Kind: 99, Name: "x"}, Invocation{}, "denied: unknown subject x is nothing that can be called"},
		{Subject{Kind: StreamableHTTP, Name: "s"}, Invocation{}.WithOffline(), "denied: streamable HTTP transport s is unavailable offline"},
		{Subject{Kind: Operation, Name: "x"}, NewInvocation(Authority{Operations: []Pattern{}}), "denied: operation x is not among the operations of this caller"},
	} {
		if got := Decide(test.subject, test.inv).String(); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

func TestReasonJSON(t *testing.T) {
	d := Decide(Subject{Kind: Tool, Name: "s/t", Effects: NewSet(Mutation)}, Invocation{}.Within("op", 0))
	got, err := json.Marshal(d.Reasons)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"rule":"needs_authorization","effect":"mutation"},{"rule":"outside_operation","effect":"mutation","operation":"op"}]`
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPositionText(t *testing.T) {
	for _, test := range []struct {
		at   Position
		want string
	}{{Position{}, ""}, {Position{"f", 1, 2}, "f:1:2"}} {
		text, err := test.at.MarshalText()
		if err != nil || string(text) != test.want {
			t.Errorf("%v: %q, %v", test.at, text, err)
		}
	}
	var none *Positions
	if !none.Of(Mutation).IsZero() || !new(Positions).Of(200).IsZero() {
		t.Error("a position out of nowhere")
	}
	if text, err := Stdio.MarshalText(); err != nil || string(text) != "stdio transport" {
		t.Errorf("%s, %v", text, err)
	}
}

func TestAllowedDecisionAllocatesNothing(t *testing.T) {
	subject := Subject{Kind: Operation, Name: "identifier.resolve", Effects: NewSet(NetworkRead, Mutation)}
	inv := NewInvocation(Authority{Authorized: NewSet(Mutation), Operations: []Pattern{"a", "identifier.*"}})
	if n := testing.AllocsPerRun(100, func() { Decide(subject, inv) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzMonotone shows that adding an effect or taking authority away never allows more.
func FuzzMonotone(f *testing.F) {
	f.Add(uint8(2), "op.a", uint8(3), uint8(2), uint8(31), false, uint8(1), uint8(2))
	f.Add(uint8(6), "op.b", uint8(0), uint8(0), uint8(0), true, uint8(8), uint8(0))
	f.Fuzz(func(t *testing.T, kind uint8, name string, declared, held, ceiling uint8, offline bool, more, less uint8) {
		s := Subject{Kind: Kind(kind), Name: name, Effects: Set(declared)}
		inv := NewInvocation(Authority{Authorized: Set(held), Offline: offline, Operations: []Pattern{"op.*"}})
		if ceiling < 32 {
			inv = inv.Within("outer", Set(ceiling))
		}
		before := Decide(s, inv)
		if before.Allowed != (len(before.Reasons) == 0) {
			t.Fatalf("allowed %v with reasons %v", before.Allowed, before.Reasons)
		}
		wider := s
		wider.Effects |= Set(more)
		for what, after := range map[string]Decision{
			"effect added":      Decide(wider, inv),
			"authority removed": Decide(s, inv.Without(Set(less))),
			"offline":           Decide(s, inv.WithOffline()),
			"within":            Decide(s, inv.Within("inner", Set(less))),
		} {
			if !before.Allowed && after.Allowed && !(what == "within" && onlyOperations(before)) {
				t.Errorf("%s: %v became allowed", what, before)
			}
		}
	})
}

// onlyOperations reports whether only the caller's list speaks against the call, which
// ends where an operation begins.
func onlyOperations(d Decision) bool {
	return len(d.Reasons) == 1 && d.Reasons[0].Rule == RuleOperations
}

func BenchmarkDecide(b *testing.B) {
	subject := Subject{Kind: Tool, Name: "s/t", Effects: NewSet(NetworkRead, Mutation)}
	inv := NewInvocation(Authority{Authorized: NewSet(Mutation)}).Within("op", NewSet(NetworkRead, Mutation))
	b.ReportAllocs()
	for b.Loop() {
		if !Decide(subject, inv).Allowed {
			b.Fatal("denied")
		}
	}
}

func ExampleDecide() {
	annotate := Subject{Kind: Tool, Name: "research-tools/annotate", Effects: NewSet(Mutation)}
	fmt.Println(Decide(annotate, NewInvocation(Authority{Principal: "dashboard"})))
	fmt.Println(Decide(annotate, NewInvocation(Authority{Principal: "editor", Authorized: NewSet(Mutation)})))
	// Output:
	// denied: tool research-tools/annotate has the effect mutation, which the caller is not authorized for
	// allowed
}
