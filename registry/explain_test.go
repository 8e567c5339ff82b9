package registry

import (
	"testing"

	"github.com/cupule/cupule/effects"
	"github.com/google/go-cmp/cmp"
)

func TestExplain(t *testing.T) {
	reads := effects.NewSet(effects.NetworkRead)
	r, events := build(t,
		Operation{Name: "op", Handler: echo, Effects: reads, Upstream: &Upstream{Server: "s", Tool: "t", Effects: reads, Transport: effects.StreamableHTTP, MaxOutput: 7}},
		Operation{Name: "native", Handler: echo, Effects: effects.NewSet(effects.Mutation)})
	for _, test := range []struct {
		operation string
		inv       effects.Invocation
		want      []string
	}{
		{"op", effects.Invocation{}, []string{"operation op: allowed", "tool s/t: allowed", "streamable HTTP transport s: allowed"}},
		{"op", effects.Invocation{}.WithOffline(), []string{
			"operation op: denied: operation op has the effect network_read, and the call is offline",
			"tool s/t: denied: tool s/t has the effect network_read, and the call is offline",
			"streamable HTTP transport s: denied: streamable HTTP transport s is unavailable offline"}},
		{"native", effects.Invocation{}, []string{"operation native: denied: operation native has the effect mutation, which the caller is not authorized for"}},
	} {
		judged, ok := r.Explain(test.operation, test.inv)
		var got []string
		allowed := true
		for _, j := range judged {
			got = append(got, j.Subject.String()+": "+j.Decision.String())
			allowed = allowed && j.Decision.Allowed
		}
		if diff := cmp.Diff(test.want, got); diff != "" || !ok {
			t.Errorf("%v %s", ok, diff)
		}
		if r.Allows(test.operation, test.inv) != allowed {
			t.Errorf("%s: Allows is not %v", test.operation, allowed)
		}
	}
	if _, ok := r.Explain("none", effects.Invocation{}); ok || r.Allows("none", effects.Invocation{}) || len(events.events) != 0 {
		t.Error("an unknown operation, or an event for an explanation")
	}
	timeout, output, ok := r.Limits("op")
	if !ok || timeout != (Limit{Name: "timeout", Whose: "operation op", Seconds: 30}) || output != (Limit{Name: "max_output", Whose: "tool s/t", Bytes: 7}) {
		t.Errorf("%v, %v, %v", timeout, output, ok)
	}
	if _, _, ok := r.Limits("none"); ok {
		t.Error("limits of nothing")
	}
}
