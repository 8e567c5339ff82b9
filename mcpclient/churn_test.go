package mcpclient

import (
	"sync"
	"testing"
	"time"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/mcpclient/mcptest"
)

// TestChurningListHoldsNobodyUp calls side by side in a session whose server says, each time
// that it lists its tools, that they have changed.
func TestChurningListHoldsNobodyUp(t *testing.T) {
	script := mcptest.Good().With(
		mcptest.Fault{At: mcptest.ListTools, Do: mcptest.ListChanged},
		mcptest.Fault{At: mcptest.ListTools, Do: mcptest.Late, Delay: 200 * time.Millisecond})
	path, args := script.Command()
	r := rule("echo")
	r.Timeout = 3 * time.Second
	server := &config.Server{
		Stdio: &config.Stdio{Command: path, Args: args}, Startup: config.DefaultStartup, Allowed: rules(r), Session: config.Session{Shared: true},
	}
	c := newClient(t, map[string]*config.Server{"s": server})
	if _, err := c.CallTool(t.Context(), "s", "echo", nil, nobody); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			if _, err := c.CallTool(t.Context(), "s", "echo", nil, nobody); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
