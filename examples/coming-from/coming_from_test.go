package comingfrom

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/mcpclient"
	"github.com/cupule/cupule/mcpclient/mcptest"
	"github.com/cupule/cupule/registry"
)

func TestMain(m *testing.M) {
	mcptest.Main()
	os.Exit(m.Run())
}

// servers returns a client of the two servers that the page speaks of.
func servers(t *testing.T) *mcpclient.Client {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "research-tools"), "../research-tools")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	library := mcptest.Good()
	library.Prompts[0].Name = "summarise"
	path, args := library.Command()
	quoted, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "app.yaml")
	text := fmt.Sprintf(`
mcp:
  research-tools:
    stdio: {command: ./research-tools}
    allowed: {resolve_identifier: {effects: [network_read]}, slow: {effects: []}, annotate: {effects: [mutation]}}
  library:
    stdio: {command: %q, args: %s}
    resources: {"docs://*": {effects: []}}
    prompts: {summarise: {effects: []}}
`, path, quoted)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := ClientAlone(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

var nobody = effects.NewInvocation(effects.Authority{})

// TestPage runs what docs/coming-from.md shows.
func TestPage(t *testing.T) {
	client := servers(t)
	for name, run := range map[string]func() error{
		"one call":              func() error { return OneCall(t.Context(), client) },
		"a session":             func() error { return LongLived(t.Context(), client, nobody) },
		"resources and prompts": func() error { return ResourcesAndPrompts(t.Context(), client, nobody) },
	} {
		if err := run(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if client.IsConnected("research-tools") {
		t.Error("the session is left open")
	}
}

func TestHandler(t *testing.T) {
	r, err := registry.New([]registry.Operation{Handler(servers(t))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.Invoke(t.Context(), registry.Request{Operation: "identifier.resolve", Params: json.RawMessage(`{"identifier":"isbn:9780131103627"}`)})
	if err != nil || !strings.Contains(string(result), "The C Programming Language") {
		t.Errorf("%s, %v", result, err)
	}
}

// TestNotifications ends with the session.
func TestNotifications(t *testing.T) {
	client := servers(t)
	session, err := client.Connect(t.Context(), "research-tools", nobody)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		Notifications(context.Background(), session)
	}()
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	<-done
}

func TestEdit(t *testing.T) {
	const text = "# servers\nmcp: {}\noperations: {}\n"
	file := filepath.Join(t.TempDir(), "app.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Edit(file); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != text {
		t.Errorf("%s, %v", got, err)
	}
}
