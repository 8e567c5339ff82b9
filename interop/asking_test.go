package interop

import (
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cupule/cupule/mcpclient"
)

// A server that asks for what this client says it can't do is refused in the protocol's own
// words, each question under its own id, and the call goes on.
func TestQuestionsOfTheServer(t *testing.T) {
	refused := float64(-32601)
	want := map[string]any{
		"said": "hi", "ping": map[string]any{}, "roots/list": refused, "sampling/createMessage": refused, "elicitation/create": refused,
	}
	for _, mode := range []string{"stdio", "stream"} {
		t.Run(mode, func(t *testing.T) {
			checkAnswers(t, connectAsking(t, need(t), mode), `{"message":"hi","ask":true}`, want)
		})
	}
}

// Servers over HTTP may answer with plain JSON, and may have no sessions.
func TestKindsOfHTTPServers(t *testing.T) {
	for _, mode := range []string{"stream", "json", "stateless"} {
		t.Run(mode, func(t *testing.T) {
			c := connectAsking(t, need(t), mode)
			checkAnswers(t, c, `{"message":"hi"}`, map[string]any{"said": "hi"})
			s := open(t, c)
			for range 3 {
				if _, err := s.CallTool(t.Context(), "echo", json.RawMessage(`{"message":"hi"}`), everybody); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func checkAnswers(t *testing.T, c *mcpclient.Client, args string, want map[string]any) {
	t.Helper()
	var got map[string]any
	if err := json.Unmarshal([]byte(text(t, call(t, c, "echo", args))), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// connectAsking makes a client of a server that scripts/asking.cjs is.
func connectAsking(t *testing.T, p *peers, mode string) *mcpclient.Client {
	t.Helper()
	if mode != "stdio" {
		return connect(t, overHTTP(serveAsking(t, p, mode)), nil)
	}
	server := "    stdio: {command: " + quote(p.node) + ", args: " + quote([]string{script(t, "asking.cjs"), mode}) + ", env: {NODE_PATH: MODULES}}\n    startup: 30"
	return connect(t, server, map[string]string{"MODULES": p.module("")})
}

func serveAsking(t *testing.T, p *peers, mode string) string {
	t.Helper()
	cmd := exec.Command(p.node, "--require", script(t, "loopback.cjs"), script(t, "asking.cjs"), mode)
	cmd.Env = []string{"NODE_PATH=" + p.module("")}
	return startWeb(t, cmd) + "/mcp"
}
