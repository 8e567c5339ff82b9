package mcpclient

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/registry"
)

// A call that was sent may have run, whoever ends the conversation that it waits on: another
// call that finds the server gone, the owner of the session, or the client.
func TestSentCallsAreNeverUnavailable(t *testing.T) {
	for _, row := range []struct {
		name string
		end  func(t *testing.T, c *Client, s *Session, child *puppet)
		kind registry.Kind
	}{
		{"another call finds the server gone", func(t *testing.T, c *Client, s *Session, child *puppet) {
			_ = child.ends[1].Close() // it reads no more, and has not ended yet
			go func() { _, _ = s.CallTool(t.Context(), "echo", nil, nobody) }()
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, _ = s.CallTool(ctx, "echo", nil, nobody)
		}, registry.KindOutcomeUnknown},
		{"the session is ended", func(_ *testing.T, _ *Client, s *Session, _ *puppet) { _ = s.Close() }, registry.KindOutcomeUnknown},
		{"the client is closed", func(_ *testing.T, c *Client, _ *Session, _ *puppet) { _ = c.Close() }, registry.KindShuttingDown},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &config.Server{Startup: seconds(8), Protocol: legacy, Allowed: rules(rule("echo"))}
				c, children := inMemory(t, s, except("tools/call", silence))
				held, err := c.Connect(t.Context(), "m", nobody)
				if err != nil {
					t.Fatal(err)
				}
				first := make(chan error)
				go func() {
					_, err := held.CallTool(t.Context(), "echo", nil, nobody)
					first <- err
				}()
				synctest.Wait()
				go row.end(t, c, held, children.list[0])
				wantKind(t, <-first, row.kind, registry.Sent)
				_ = c.Close()
			})
		})
	}
}
