package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestImportOfContainers turns variables that a container is given by value into names.
func TestImportOfContainers(t *testing.T) {
	found, err := Import([]byte(`{"mcpServers":{"box":{"command":"docker","args":
		["run","-i","-eTOKEN=verysecret1","--env=PASSWORD=verysecret2","-e","API_KEY=verysecret3","--env","MODE=verysecret4","-e","KEPT","img","--x=1"]}}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := found.Servers[0].Stdio
	want := []string{"run", "-i", "-e", "TOKEN", "-e", "PASSWORD", "-e", "API_KEY", "-e", "MODE", "-e", "KEPT", "img", "--x=1"}
	if diff := cmp.Diff(want, s.Args); diff != "" {
		t.Error(diff)
	}
	wantEnv := map[string]string{"TOKEN": "TOKEN", "PASSWORD": "PASSWORD", "API_KEY": "API_KEY", "MODE": "MODE", "PATH": "PATH", "HOME": "HOME"}
	if diff := cmp.Diff(wantEnv, s.Env); diff != "" {
		t.Error(diff)
	}
	if len(found.Variables) != 4 {
		t.Errorf("%+v", found.Variables)
	}
}

func TestImportTellsOfSecretsThatStay(t *testing.T) {
	found, err := Import([]byte(`{"mcpServers":{"a":{"url":"https://x.example.org/mcp/s/0a1b2c3d4e5f60718293a4b5c6d7e8f9/mcp"},
		"b":{"command":"x","args":["--db","Server=x;Password=S3cretPw99;"]}}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(found.Notes, "\n"); !strings.Contains(notes, "looks like a secret, which now stands in the file") || strings.Contains(notes, "S3cret") {
		t.Error(notes)
	}
	if args := strings.Join(found.Servers[1].Stdio.Args, " "); strings.Contains(args, "S3cret") {
		t.Error(args)
	}
	if _, err := Parse("x", []byte(`mcp: {b: {stdio: {command: x, args: ["Server=x;Password=S3cretPw99;"]}, allowed: {}}}`)); err == nil {
		t.Error("a password in a connection string was accepted")
	}
}

func TestAddRefusesWhatIsNoText(t *testing.T) {
	file := filepath.Join(t.TempDir(), "app.yaml")
	for _, server := range []*Server{
		{Stdio: &Stdio{Command: "x", Args: []string{"\xff"}}},
		{Stdio: &Stdio{Command: "x", Env: map[string]string{"A": "B\xff"}}},
		{HTTP: &HTTP{URL: "https://example.org/\xff"}},
		{Stdio: &Stdio{Command: "x"}, Protocol: "\xff"},
		{Stdio: &Stdio{Command: "x"}, Allowed: map[string]*Rule{"\xff": {}}},
		{Stdio: &Stdio{Command: "x"}, Resources: map[string]*Rule{"\xff": {}}},
		{Stdio: &Stdio{Command: "x"}, Prompts: map[string]*Rule{"\xff": {}}},
	} {
		if err := AddServer(file, "a", server); err == nil || !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("%+v: %v", server, err)
		}
	}
	if err := AddServer(file, "\xff", &Server{Stdio: &Stdio{Command: "x"}}); err == nil || !strings.Contains(err.Error(), `server "\xff"`) {
		t.Errorf("an alias: %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a file was made")
	}
}
