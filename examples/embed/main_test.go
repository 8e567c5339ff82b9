package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv("CUPULE_TEST_EMBED") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestEmbed runs the README's program in a folder of its own, on standard input and output.
func TestEmbed(t *testing.T) {
	for _, test := range []struct{ name, file, in, out, talk string }{
		{"a call", "callers: {local: {}}\n", `{"jsonrpc":"2.0","method":"text.count","params":{"Text":"one two three"},"id":1}` + "\n", `{"jsonrpc":"2.0","id":1,"result":3}` + "\n", ""},
		{"by position", "callers: {local: {}}\n", `{"jsonrpc":"2.0","method":"text.count","params":["one two"],"id":1}` + "\n", `{"jsonrpc":"2.0","id":1,"result":2}` + "\n", ""},
		{"a wrong file", "mcp: {}\nserv: {}\ncallers: 7\n", "", "", "app.yaml:2:1: serv: unknown key"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "app.yaml"), []byte(test.file), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, talk bytes.Buffer
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "CUPULE_TEST_EMBED=1")
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(test.in), &out, &talk
			if err := cmd.Run(); (err == nil) != (test.talk == "") {
				t.Errorf("%v\n%s", err, talk.String())
			}
			if out.String() != test.out || !strings.Contains(talk.String(), test.talk) {
				t.Errorf("wrote %s\nsaid %s", out.String(), talk.String())
			}
		})
	}
}
