package jsonrpcserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cupule/cupule/registry"
)

// A peer that sends one call at a time more than it reads fills its socket, so that the
// reader's own write ends within a reply: the writer goes on at that very byte.
func TestWriterBeginsWithinAReply(t *testing.T) {
	text := json.RawMessage(`"` + strings.Repeat("w", 4000) + `"`)
	ran := make(chan struct{}, 1000)
	reg := newRegistry(t, registry.Operation{Name: "constant", Handler: func(context.Context, *registry.Call) (json.RawMessage, error) {
		ran <- struct{}{}
		return text, nil
	}})
	s := newServer(t, Backend{Registry: reg}, nil)
	c := dial(t, listen(t, s, Endpoint{Scheme: "unix", Address: socketPath(t)}), true)
	s.current.Load().known["constant"].pace.average.Store(0) // known to be quick
	const n = 120
	for i := range n {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"constant","id":%d}`, i))
		select {
		case <-ran:
		case <-time.After(hang):
			t.Fatal("a call didn't run")
		}
	}
	seen := map[string]bool{}
	for range n {
		got, err := c.receive(hang)
		if err != nil {
			t.Fatal(err)
		}
		r := parseReply(got)
		if r == nil || r[2] != string(text) || seen[r[0]] {
			t.Fatalf("%.80q", got)
		}
		seen[r[0]] = true
	}
}
