package interop

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cupule/cupule/mcpclient"
	"github.com/cupule/cupule/registry"
)

func TestCheck(t *testing.T) {
	overBoth(t, func(t *testing.T, c *mcpclient.Client) {
		h, err := c.Check(t.Context(), "everything", everybody)
		if err != nil {
			t.Fatal(err)
		}
		if h.Protocol != "2025-11-25" || h.Info.Name != "mcp-servers/everything" || h.Capabilities.Tools == nil {
			t.Errorf("%+v %+v", h, h.Info)
		}
		if h.Advertised != 13 || h.Usable != 13 {
			t.Errorf("%d tools, %d of them usable", h.Advertised, h.Usable)
		}
		var found []string
		for _, f := range h.Findings {
			found = append(found, string(f.Problem)+" "+f.Subject.Name)
		}
		want := []string{
			"missing everything/get-nothing", "missing everything/get-roots-list",
			"missing everything/trigger-elicitation-request", "missing everything/trigger-sampling-request",
		}
		if !slices.Equal(found, want) {
			t.Errorf("%q", found)
		}
	})
}

func TestListTools(t *testing.T) {
	overBoth(t, func(t *testing.T, c *mcpclient.Client) {
		tools, err := c.ListTools(t.Context(), "everything", everybody.WithOffline())
		if transportIsHTTP(t) {
			wantError(t, err, registry.KindDenied, registry.NotSent)
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(tools, func(tool mcpclient.Tool) bool { return tool.Name == "gzip-file-as-resource" }); i >= 0 || len(tools) != 12 {
			t.Errorf("%d tools without network_read", len(tools))
		}
		if echo := tools[0]; echo.Name != "echo" || echo.Claims == nil || !echo.Claims.ReadOnlyHint || echo.Description != "Echoes back the input string" {
			t.Errorf("%+v", echo)
		}
	})
}

func transportIsHTTP(t *testing.T) bool { return filepath.Base(t.Name()) == "http" }

// The server speaks older revisions alone. It is asked for the newest one once, and what it
// spoke is remembered.
func TestOlderRevisions(t *testing.T) {
	for _, row := range []struct {
		pinned, want string
		probes       int
	}{
		{"", "2025-11-25", 1}, {"2025-06-18", "2025-06-18", 0}, {"2025-03-26", "2025-03-26", 0}, {"2024-11-05", "2024-11-05", 0},
	} {
		t.Run("pinned "+row.pinned, func(t *testing.T) {
			p := need(t)
			file := filepath.Join(t.TempDir(), "wire")
			server := viaTee(t, file, p.node, p.everything(), "stdio")
			if row.pinned != "" {
				server += "\n    protocol: " + quote(row.pinned)
			}
			c := connect(t, server, nil)
			for range 2 {
				h, err := c.Check(t.Context(), "everything", everybody)
				if err != nil || h.Protocol != row.want {
					t.Fatalf("%+v, %v", h, err)
				}
			}
			list := readTranscript(t, file)
			if n := len(seen(list, "server/discover")); n != row.probes {
				t.Errorf("%d probes", n)
			}
			if n := len(seen(list, "initialize")); n != 2 {
				t.Errorf("%d handshakes", n)
			}
		})
	}
}

func TestPinnedToTheNewest(t *testing.T) {
	for _, transport := range []string{"stdio", "http"} {
		t.Run(transport, func(t *testing.T) {
			p := need(t)
			server := stdio(p.node, p.everything(), "stdio")
			if transport == "http" {
				server = overHTTP(serveEverything(t, p))
			}
			c := connect(t, server+"\n    protocol: \"2026-07-28\"", nil)
			_, err := c.CallTool(t.Context(), "everything", "echo", nil, everybody)
			wantError(t, err, registry.KindUpstreamError, registry.NotSent)
		})
	}
}

// Over HTTP, each request says which session and revision it belongs to, and the session is
// ended by the client.
func TestSessionOverHTTP(t *testing.T) {
	p := need(t)
	w, address := startWatch(t, serveEverything(t, p))
	c := connect(t, overHTTP(address), nil)
	call(t, c, "echo", `{"message":"hi"}`)
	w.verb(t, "DELETE")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	var verbs []string
	session := ""
	for _, e := range w.exchanges() {
		t.Logf("server sees: %s %s", e.Verb, e.text)
		verbs = append(verbs, e.Verb+" "+e.Method)
		if e.Method == "server/discover" || e.Method == "initialize" {
			continue
		}
		if id := e.Header.Get("Mcp-Session-Id"); id == "" || session != "" && id != session {
			t.Errorf("%s is in session %q, not %q", e.Method, id, session)
		} else {
			session = id
		}
		if v := e.Header.Get("Mcp-Protocol-Version"); v != "2025-11-25" {
			t.Errorf("%s %s says revision %q", e.Verb, e.Method, v)
		}
	}
	want := []string{"POST server/discover", "POST initialize", "POST notifications/initialized", "POST tools/list", "POST tools/call", "DELETE "}
	if !slices.Equal(verbs, want) {
		t.Errorf("%q", verbs)
	}
}

// A client that is closed right behind a call leaves no session on the server.
func TestCloseEndsTheSession(t *testing.T) {
	p := need(t)
	w, address := startWatch(t, serveEverything(t, p))
	c := connect(t, overHTTP(address), nil)
	call(t, c, "echo", `{"message":"hi"}`)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if list := w.exchanges(); list[len(list)-1].Verb != "DELETE" {
		t.Error("the server's session was not ended")
	}
}

// A server of the newest revision, made of the Go SDK: no handshake, and every request says
// what it speaks.
func TestNewestRevision(t *testing.T) {
	p := need(t)
	file := filepath.Join(t.TempDir(), "wire")
	c := connect(t, viaTee(t, file, program(t, "examples/research-tools"))+"\n    allowed:\n      slow: {effects: []}", nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	slow := mcpclient.ToolCall{Server: "everything", Tool: "slow", Args: json.RawMessage(`{"steps":100}`), Invocation: everybody}
	slow.Progress = func(registry.Progress) { cancel() }
	_, err := c.Call(ctx, slow)
	wantError(t, err, registry.KindCancelled, registry.Sent)
	waitForProcesses(t, p.dir)
	list := readTranscript(t, file)
	show(t, list)
	if n := len(seen(list, "initialize")); n > 0 {
		t.Errorf("%d handshakes", n)
	}
	for _, l := range list {
		if l.toServer && l.ID != nil && !strings.Contains(string(l.Params), `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`) {
			t.Errorf("a request without its revision: %s", l.text)
		}
	}
	checkNotice(t, seen(list, "tools/call"), seen(list, "notifications/cancelled"))
}
