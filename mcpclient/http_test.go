package mcpclient

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
)

// recorder notes the requests that a server gets.
type recorder struct {
	http.Handler
	verbs chan string
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.verbs <- req.Method + " " + req.Header.Get("Mcp-Protocol-Version") + " " + req.Header.Get("Mcp-Method")
	r.Handler.ServeHTTP(w, req)
}

// serveSDK serves the real server over HTTP on loopback.
func serveSDK(t testing.TB, opts *mcp.StreamableHTTPOptions) (*httptest.Server, *recorder) {
	t.Helper()
	s := sdkServer()
	rec := &recorder{mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, opts), make(chan string, 1000)}
	srv := httptest.NewServer(rec)
	t.Cleanup(srv.Close)
	return srv, rec
}

func webServer(url string, list ...*config.Rule) *config.Server {
	return &config.Server{HTTP: &config.HTTP{URL: url}, Startup: 5 * time.Second, Allowed: rules(list...)}
}

func TestHTTP(t *testing.T) {
	for _, row := range []struct {
		name, protocol string
		opts           mcp.StreamableHTTPOptions
		deleted        bool
	}{
		{"stateful, events", legacy, mcp.StreamableHTTPOptions{}, true},
		{"stateful, JSON", legacy, mcp.StreamableHTTPOptions{JSONResponse: true}, true},
		{"stateless, events", modern, mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true}, false},
		{"stateless, JSON", modern, mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, PropagateRequestCancellation: true}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			srv, rec := serveSDK(t, &row.opts)
			s := webServer(srv.URL, rule("echo"), rule("fail"), rule("slow"), rule("absent"))
			s.Allowed["slow"].Timeout = time.Second
			c := newClient(t, map[string]*config.Server{"web": s})
			h, err := c.Check(t.Context(), "web", effects.Invocation{})
			if err != nil || h.Protocol != row.protocol || h.Info.Version != "7" {
				t.Fatalf("%+v %v", h, err)
			}
			r, err := c.CallTool(t.Context(), "web", "echo", json.RawMessage(`{"text":"hi"}`), effects.Invocation{})
			if err != nil || r.IsError || !strings.Contains(string(r.Raw), `"hi"`) {
				t.Fatalf("%+v %v", r, err)
			}
			_, err = c.CallTool(t.Context(), "web", "absent", nil, effects.Invocation{})
			wantKind(t, err, registry.KindToolMissing, registry.NotSent)
			began := time.Now()
			_, err = c.CallTool(t.Context(), "web", "slow", json.RawMessage(`{"text":"hi"}`), effects.Invocation{})
			wantKind(t, err, registry.KindTimeout, registry.Sent)
			if took := time.Since(began); took > time.Second+slack {
				t.Errorf("back after %v", took)
			}
			_, err = c.CallTool(t.Context(), "web", "echo", nil, effects.Invocation{}.WithOffline())
			wantKind(t, err, registry.KindDenied, registry.NotSent)
			_ = c.Close()
			deleted := 0
			for len(rec.verbs) > 0 {
				if strings.HasPrefix(<-rec.verbs, "DELETE") {
					deleted++
				}
			}
			if row.deleted != (deleted == 4) {
				t.Errorf("%d sessions deleted", deleted)
			}
		})
	}
}
