// Package testchild makes an MCP child of a test binary. The binary learns by the name
// that it is started by what it is to be: some clients empty the environment of a child.
package testchild

import (
	"log"
	"os"
	"path/filepath"
	"testing"

	"github.com/cupule/cupule/bench/internal/mcpraw"
)

const name = "bench-test-child"

// Main runs the tests, or serves as a child.
func Main(m *testing.M) {
	if filepath.Base(os.Args[0]) != name {
		os.Exit(m.Run())
	}
	if err := mcpraw.Serve(os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// Path returns the path of a trivial MCP server.
func Path(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(exe, path); err != nil {
		t.Skipf("no links here: %v", err)
	}
	return path
}
