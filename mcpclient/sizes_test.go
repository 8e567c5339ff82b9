package mcpclient

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/mcpclient/mcptest"
	"github.com/cupule/cupule/registry"
)

// TestResultsUpToTheirLimit calls for results of sizes around every buffer, up to exactly
// the limit and one byte beyond.
func TestResultsUpToTheirLimit(t *testing.T) {
	const limit = 1 << 20
	for _, size := range []int{30, 4 << 10, 32 << 10, 64 << 10, 70_000, 128 << 10, 256_000, limit - 1, limit, limit + 1} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			script := mcptest.Script{Speaks: mcptest.Legacy, Tools: []mcptest.Tool{{Name: "big", Result: sized(size)}}, Record: filepath.Join(t.TempDir(), "record")}
			path, args := script.Command()
			r := rule("big")
			r.MaxOutput = limit
			server := &config.Server{Stdio: &config.Stdio{Command: path, Args: args}, Startup: config.DefaultStartup, Allowed: rules(r)}
			c := newClient(t, map[string]*config.Server{"s": server})
			result, err := c.CallTool(t.Context(), "s", "big", nil, effects.Invocation{})
			if size > limit {
				wantKind(t, err, registry.KindOutputTooLarge, registry.Completed)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(result.Raw) != size {
				t.Errorf("%d bytes, want %d", len(result.Raw), size)
			}
		})
	}
}

// sized returns a result of this many bytes.
func sized(n int) json.RawMessage {
	const head, tail = `{"content":[],"_":"`, `"}`
	text := make([]byte, 0, n)
	text = append(text, head...)
	for len(text) < n-len(tail) {
		text = append(text, 'x')
	}
	return append(text, tail...)
}
