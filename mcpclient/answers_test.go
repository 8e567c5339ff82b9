package mcpclient

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/mcpclient/mcptest"
	"github.com/cupule/cupule/registry"
)

// TestResultsOfTwoMeanings refuses results that two readers could read differently, and
// such that ask for input without saying so.
func TestResultsOfTwoMeanings(t *testing.T) {
	for name, result := range map[string]string{
		"two result types":    `{"resultType":"input_required","content":[],"resultType":"complete"}`,
		"escaped result type": `{"resultType":"complete","content":[],"result\u0054ype":"input_required"}`,
		"two isError":         `{"isError":true,"content":[],"isError":false}`,
		"two contents":        `{"content":[],"content":[{"type":"text","text":"x"}]}`,
		"input requests":      `{"inputRequests":{"a":{"method":"elicitation/create"}},"requestState":"x"}`,
		"request state":       `{"requestState":"x"}`,
		"isError is no bool":  `{"content":[],"isError":"true"}`,
		"content is no array": `{"content":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			script := mcptest.Script{Tools: []mcptest.Tool{{Name: "t", Result: json.RawMessage(result)}}, Record: filepath.Join(t.TempDir(), "record")}
			path, args := script.Command()
			server := &config.Server{Stdio: &config.Stdio{Command: path, Args: args}, Startup: config.DefaultStartup, Allowed: rules(rule("t"))}
			c := newClient(t, map[string]*config.Server{"s": server})
			_, err := c.CallTool(t.Context(), "s", "t", nil, nobody)
			wantKind(t, err, registry.KindUpstreamError, registry.Completed)
		})
	}
}

// TestNothingIsReplayed drops a used connection instead of answering: with headers that
// make package http believe that a request may be sent again, and without.
func TestNothingIsReplayed(t *testing.T) {
	for _, header := range []string{"X-Tenant", "Idempotency-Key", "idempotency-key", "X-Idempotency-Key"} {
		t.Run(header, func(t *testing.T) {
			var calls atomic.Int64
			real := mcptest.Good().HTTP(t)
			front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Mcp-Method") == "tools/call" {
					calls.Add(1)
					panic(http.ErrAbortHandler)
				}
				real.ServeHTTP(w, r)
			}))
			t.Cleanup(front.Close)
			s := webServer(front.URL+"/mcp", rule("echo"))
			s.HTTP.HeadersEnv = map[string]string{header: "TOKEN"}
			c := newClient(t, map[string]*config.Server{"s": s})
			_, err := c.CallTool(t.Context(), "s", "echo", nil, nobody)
			wantKind(t, err, registry.KindOutcomeUnknown, registry.Sent)
			if n := calls.Load(); n != 1 {
				t.Errorf("the server got %d calls", n)
			}
		})
	}
}
