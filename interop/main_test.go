package interop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

const (
	folderVariable = "CUPULE_INTEROP"        // the folder that holds node_modules
	reportVariable = "CUPULE_INTEROP_REPORT" // a file that gets a line per call
)

// guard bounds everything that is expected to happen soon.
const guard = 30 * time.Second

// The test binary is also the tee that stands between a client and a server.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == teeCommand {
		os.Exit(tee(os.Args[2], os.Args[3:]))
	}
	code := m.Run()
	if dir := built.dir; dir != "" {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// peers are the packages that the tests talk to.
type peers struct {
	dir  string // holds node_modules
	node string
}

// need returns the peers, or skips the test where there are none.
func need(t *testing.T) *peers {
	t.Helper()
	dir := os.Getenv(folderVariable)
	if dir == "" {
		t.Skipf("run ./interop/run, or set %s to a folder in which `npm ci` has installed interop/package.json", folderVariable)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	// This also wakes what the Go runtime starts once, so that it counts as no leak.
	if out, err := exec.Command(node, "--version").CombinedOutput(); err != nil {
		t.Fatalf("node --version: %v\n%s", err, out)
	}
	p := &peers{dir: dir, node: node}
	if _, err := os.Stat(p.everything()); err != nil {
		t.Fatalf("%s holds no packages: %v", folderVariable, err)
	}
	checkLeaks(t, dir)
	return p
}

func (p *peers) module(name string) string {
	return filepath.Join(p.dir, "node_modules", filepath.FromSlash(name))
}

// everything returns the program of server-everything.
func (p *peers) everything() string {
	return p.module("@modelcontextprotocol/server-everything/dist/index.js")
}

func script(t *testing.T, name string) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("scripts", name))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// built holds the programs that tests build, each once.
var built struct {
	sync.Mutex
	dir string
}

// program builds a command of this module.
func program(t *testing.T, path string) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if built.dir == "" {
		dir, err := os.MkdirTemp("", "cupule-interop-")
		if err != nil {
			t.Fatal(err)
		}
		built.dir = dir
	}
	file := filepath.Join(built.dir, filepath.Base(path))
	if _, err := os.Stat(file); err == nil {
		return file
	}
	build := exec.Command("go", "build", "-o", file, "github.com/cupule/cupule/"+path)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", path, err, out)
	}
	return file
}

// report adds one call to what the run prints at its end.
func report(direction, transport, name string) {
	file := os.Getenv(reportVariable)
	if file == "" {
		return
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = fmt.Fprintf(f, "%s\t%s\t%s\n", direction, transport, name)
}
