package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/mcpclient"
	"github.com/cupule/cupule/registry"
)

// What a configuration allows of server-everything: the tools that it has, those that it has
// for clients with more capabilities, and one that it never had.
const allowed = `
    allowed:
      echo: {effects: []}
      get-sum: {effects: []}
      get-env: {effects: []}
      get-tiny-image: {effects: []}
      get-annotated-message: {effects: []}
      get-structured-content: {effects: []}
      get-resource-links: {effects: []}
      get-resource-reference: {effects: []}
      gzip-file-as-resource: {effects: [network_read, mutation]}
      toggle-simulated-logging: {effects: [mutation]}
      toggle-subscriber-updates: {effects: [mutation]}
      trigger-long-running-operation: {effects: [], timeout: 20}
      simulate-research-query: {effects: [mutation]}
      trigger-sampling-request: {effects: [inference]}
      trigger-elicitation-request: {effects: [mutation]}
      get-roots-list: {effects: []}
      get-nothing: {effects: []}
    resources:
      "demo://resource/*": {effects: []}
    prompts:
      simple-prompt: {effects: []}
      args-prompt: {effects: []}
      completable-prompt: {effects: []}
      resource-prompt: {effects: []}
`

// everybody may do what the configuration above declares.
var everybody = effects.NewInvocation(effects.Authority{Authorized: effects.NewSet(effects.Mutation, effects.Inference)})

// stdio configures a server that runs as a child.
func stdio(command string, args ...string) string {
	return fmt.Sprintf("    stdio: {command: %s, args: %s}\n    startup: 30", quote(command), quote(append([]string{}, args...)))
}

// viaTee configures the same, with a tee in between that writes to file.
func viaTee(t *testing.T, file, command string, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return stdio(self, append([]string{teeCommand, file, command}, args...)...)
}

// quote writes a value as YAML, of which JSON is a part.
func quote(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// connect makes a client of one server, which may do what allowed says where it says nothing itself.
func connect(t *testing.T, server string, env map[string]string) *mcpclient.Client {
	t.Helper()
	text := "mcp:\n  everything:\n" + server
	if !strings.Contains(server, "allowed:") {
		text += allowed
	}
	cfg, err := config.Parse(filepath.Join(t.TempDir(), "app.yaml"), []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	c, err := mcpclient.New(cfg, &mcpclient.Options{
		Name: "interop", Version: "1",
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		Observer:  observer{transportOf(server)},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func transportOf(server string) string {
	if strings.Contains(server, "    http:") {
		return "Streamable HTTP"
	}
	return "stdio"
}

// observer reports what was called over a transport.
type observer struct{ transport string }

func (o observer) Observe(_ context.Context, e registry.Event) {
	if e.Err == nil {
		report("out", o.transport, strings.TrimPrefix(strings.Replace(e.Subject.String(), "everything/", "", 1), "tool "))
	}
}

// overBoth runs a test with server-everything as a child, and as a web server.
func overBoth(t *testing.T, test func(t *testing.T, c *mcpclient.Client)) {
	t.Run("stdio", func(t *testing.T) {
		p := need(t)
		test(t, connect(t, stdio(p.node, p.everything(), "stdio"), nil))
	})
	t.Run("http", func(t *testing.T) {
		p := need(t)
		test(t, connect(t, overHTTP(serveEverything(t, p)), nil))
	})
}

func overHTTP(address string) string {
	return fmt.Sprintf("    http: {url: %s}", quote(address))
}

// serveEverything starts server-everything as a web server on loopback and returns its address.
func serveEverything(t *testing.T, p *peers) string {
	t.Helper()
	cmd := exec.Command(p.node, "--require", script(t, "loopback.cjs"), p.everything(), "streamableHttp")
	cmd.Env = []string{"PORT=0"}
	return startWeb(t, cmd) + "/mcp"
}

// startWeb starts a web server that says where it listens, until the test ends.
func startWeb(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	talk, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := newLog(talk)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		said.wait()
		_ = cmd.Wait()
	})
	return "http://" + said.find(t, "listening on ")
}
