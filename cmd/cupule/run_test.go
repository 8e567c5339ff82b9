package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cupule/cupule/mcpclient/mcptest"
)

// ran is what a command line did.
type ran struct {
	code      int
	out, talk string
}

// runHere runs a command line in this process. Terminal says that a person is looking.
func runHere(t *testing.T, terminal bool, env map[string]string, args ...string) ran {
	t.Helper()
	return runIn(t.Context(), "", terminal, env, args...)
}

func runIn(ctx context.Context, in string, terminal bool, env map[string]string, args ...string) ran {
	var out, talk bytes.Buffer
	c := &cli{in: strings.NewReader(in), out: &out, talk: &talk, terminal: terminal,
		lookupEnv: func(name string) (string, bool) { value, ok := env[name]; return value, ok }}
	cmd := c.command()
	cmd.SetArgs(args)
	code := c.exit(ctx, cmd.ExecuteContext(ctx))
	return ran{code, out.String(), talk.String()}
}

// holds reports what a run lacks: its exit code, and words of what it printed and said.
func (r ran) holds(t *testing.T, name string, code int, words ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("%s: exit code %d, want %d", name, r.code, code)
	}
	for _, word := range words {
		if !strings.Contains(r.out+r.talk, word) {
			t.Errorf("%s: %q is missing", name, word)
		}
	}
	if t.Failed() {
		t.Logf("%s:\n%s%s", name, r.out, r.talk)
	}
}

// configFile writes a configuration, which is JSON and so YAML too.
func configFile(t *testing.T, cfg any) string {
	t.Helper()
	text, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "app.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

type object = map[string]any

// stdioServer declares a server that runs a script as a child.
func stdioServer(script mcptest.Script, keys object) object {
	path, args := script.Command()
	server := object{"stdio": object{"command": path, "args": args}, "allowed": object{}}
	for key, value := range keys {
		server[key] = value
	}
	return server
}

func declares(names ...string) object {
	effects := object{}
	for _, name := range names {
		effects[name] = object{"effects": []string{}}
	}
	return effects
}
