package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cupule/cupule/effects"
	"github.com/google/go-cmp/cmp"
)

// added is a server with most that one can have.
func added() *Server {
	return &Server{
		Stdio:   &Stdio{Command: "./bin/x", Args: []string{"-y", "a b", "5", "#", "true"}, Env: map[string]string{"PATH": "PATH"}},
		Startup: time.Minute,
		Allowed: map[string]*Rule{"t": {Effects: effects.NewSet(effects.Mutation), Timeout: 1500 * time.Millisecond, MaxOutput: 1 << 20}},
	}
}

// TestEdits runs the lines of "do" on app.yaml: add ALIAS, remove ALIAS. An error ends it.
func TestEdits(t *testing.T) {
	golden(t, "edits", func(t *testing.T, files map[string]string) map[string]string {
		unix := strings.NewReplacer("^M\n", "\r\n", "^D\n", "")
		visible := strings.NewReplacer("\r\n", "^M\n")
		before, exists := files["app.yaml"]
		file := filepath.Join(t.TempDir(), "app.yaml")
		if exists {
			if err := os.WriteFile(file, []byte(unix.Replace(before)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		result := map[string]string{}
		for line := range strings.Lines(files["do"]) {
			if err := edit(file, strings.Fields(line)); err != nil {
				result["error"] = strings.ReplaceAll(err.Error(), filepath.Dir(file)+"/", "") + "\n"
				break
			}
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return result
		}
		result["after"] = visible.Replace(string(data))
		if !strings.HasSuffix(result["after"], "\n") {
			result["after"] += "^D\n"
		}
		if result["error"] != "" && string(data) != unix.Replace(before) {
			t.Errorf("changed in spite of the error")
		}
		return result
	})
}

func edit(file string, words []string) error {
	switch words[0] {
	case "add":
		return AddServer(file, words[1], &Server{Stdio: &Stdio{Command: "x"}})
	case "add-full":
		return AddServer(file, words[1], added())
	case "add-http":
		return AddServer(file, words[1], &Server{HTTP: &HTTP{URL: "https://example.org/mcp?a=b&c=d", HeadersEnv: map[string]string{"X-A": "A"}, BearerTokenEnv: "T"}, Session: Session{Shared: true}})
	case "add-wrong":
		return AddServer(file, words[1], &Server{HTTP: &HTTP{URL: "http://example.org/"}})
	}
	return RemoveServer(file, words[1])
}

// What was added is read back as it was.
func TestAddReadsBack(t *testing.T) {
	full := added()
	full.Protocol, full.Concurrency, full.Session = "2025-11-25", 4, Session{Warm: 2, Idle: 90 * time.Second}
	full.Resources = map[string]*Rule{"docs://*": {}, "a b": {MaxOutput: 5}}
	full.Prompts = map[string]*Rule{"söme \"one\"": {Effects: effects.NewSet(effects.Inference)}}
	full.Stdio.Args = append(full.Stdio.Args, "", "-", "--", "~", "null", "a: b", "a #b", "{", "it's", "\"", "\\", "line\nbreak", "*x", "&x", "!x", "%x", "@x", "`x",
		"1_000", "0x1", ".5", "1e3", ".inf", "=", "<<", "2025-01-01", "a:", ":a", "ü", "?", "-x:", "[a]", "a,b", "on", "\t", "|", ">", "\u2028", "😀", "\ufffd")
	for _, form := range []string{"", "mcp: {}\n", "{}", `{"mcp": {"z": {"stdio": {"command": "z"}}}}`, "mcp: {z: {stdio: {command: z}}}\n", "mcp:\n  z:\n    stdio: {command: z}\n"} {
		file := write(t, form)
		if err := AddServer(file, "full", full); err != nil {
			t.Errorf("%s: %v", form, err)
			continue
		}
		cfg, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		got := placelessServer(*cfg.MCP["full"])
		want := *full
		stdio := *full.Stdio
		stdio.Command = filepath.Join(cfg.Dir, "bin", "x")
		want.Stdio, want.Alias = &stdio, "full"
		want.Allowed, want.Resources, want.Prompts = complete(full.Allowed), complete(full.Resources), complete(full.Prompts)
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("%s -want +got:\n%s", form, diff)
		}
	}
}

// complete returns rules with what holds where they say nothing.
func complete(rules map[string]*Rule) map[string]*Rule {
	n := map[string]*Rule{}
	for name, rule := range rules {
		r := *rule
		r.Name = name
		if r.Timeout == 0 {
			r.Timeout = DefaultTimeout
		}
		if r.MaxOutput == 0 {
			r.MaxOutput = DefaultMaxOutput
		}
		n[name] = &r
	}
	return n
}

func TestAddServersAllOrNone(t *testing.T) {
	file := write(t, "mcp:\n  b: {stdio: {command: b}}\n")
	server := func(alias string) *Server { return &Server{Alias: alias, Stdio: &Stdio{Command: "x"}} }
	if err := AddServers(file, []*Server{server("a"), server("b")}); err == nil {
		t.Error("a duplicate was added")
	}
	if err := AddServers(file, []*Server{server("a"), server("a")}); err == nil {
		t.Error("a server was added twice")
	}
	if err := AddServers(file, []*Server{server("a"), nil}); err == nil {
		t.Error("nil was added")
	}
	if err := AddServer(file, "a", nil); err == nil {
		t.Error("nil was added")
	}
	if cfg, err := Load(file); err != nil || len(cfg.MCP) != 1 {
		t.Fatalf("half applied: %v %v", cfg, err)
	}
	if err := AddServers(file, []*Server{server("a"), server("c")}); err != nil {
		t.Error(err)
	}
	if err := AddServers(file, nil); err != nil {
		t.Error(err)
	}
	if cfg, err := Load(file); err != nil || len(cfg.MCP) != 3 {
		t.Errorf("%v %v", cfg, err)
	}
	alone(t, file)
}

// alone makes sure that nothing but the file is left in its folder.
func alone(t *testing.T, file string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(file) {
			t.Errorf("%s is left behind", e.Name())
		}
	}
}

func TestEditKeepsMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	mode := func(file string) fs.FileMode {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	old := write(t, "mcp: {}\n")
	for _, want := range []fs.FileMode{0o640, 0o604, 0o600} {
		if err := os.Chmod(old, want); err != nil {
			t.Fatal(err)
		}
		if err := edit(old, []string{"add", fmt.Sprintf("m%o", want)}); err != nil || mode(old) != want {
			t.Errorf("mode %o, want %o, %v", mode(old), want, err)
		}
	}
	fresh := filepath.Join(t.TempDir(), "new.yaml")
	if err := edit(fresh, []string{"add", "a"}); err != nil || mode(fresh) != 0o600 {
		t.Errorf("a new file has mode %o, %v", mode(fresh), err)
	}
	alone(t, fresh)
}

func TestEditFollowsLink(t *testing.T) {
	target := write(t, "mcp: {}\n")
	link := filepath.Join(t.TempDir(), "link.yaml")
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
	if err := edit(link, []string{"add", "a"}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v", err)
	}
	if cfg, err := Load(target); err != nil || cfg.MCP["a"] == nil {
		t.Errorf("the target has no server: %v", err)
	}
	alone(t, target)
	alone(t, link)
	dangling := filepath.Join(filepath.Dir(link), "dangling.yaml")
	if err := os.Symlink("nowhere", dangling); err != nil {
		t.Fatal(err)
	}
	if err := edit(dangling, []string{"add", "a"}); err == nil {
		t.Error("a link that leads nowhere was written through")
	}
}

func TestEditErrors(t *testing.T) {
	dir := t.TempDir()
	if err := RemoveServer(filepath.Join(dir, "missing.yaml"), "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if err := edit(filepath.Join(dir, "missing", "app.yaml"), []string{"add", "a"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
	if err := edit(dir, []string{"add", "a"}); err == nil {
		t.Error("a folder was edited")
	}
	large := write(t, "mcp: {}\n#"+strings.Repeat("x", MaxFile))
	if err := edit(large, []string{"add", "a"}); err == nil {
		t.Error("a file that is too large was edited")
	}
	full := write(t, "mcp: {}\n#"+strings.Repeat("x", MaxFile-10))
	if err := edit(full, []string{"add", "a"}); err == nil {
		t.Error("a file grew too large")
	}
	alone(t, full)
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("%v is left behind", entries)
	}
}

// A folder that can't be written leaves the file as it is.
func TestEditCannotWrite(t *testing.T) {
	if os.Getuid() <= 0 {
		t.Skip("root may write anywhere")
	}
	file := write(t, "mcp: {}\n")
	if err := os.Chmod(filepath.Dir(file), 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Dir(file), 0o700)
	if err := edit(file, []string{"add", "a"}); err == nil {
		t.Error("no error")
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "mcp: {}\n" {
		t.Errorf("%s %v", data, err)
	}
}

// No update is lost when goroutines and processes edit one file at once.
func TestTwoWriters(t *testing.T) {
	if file := os.Getenv("CUPULE_TEST_WRITER"); file != "" {
		for i := range 10 {
			if err := edit(file, []string{"add", fmt.Sprintf("%s-%d", os.Getenv("CUPULE_TEST_NAME"), i)}); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	file := filepath.Join(t.TempDir(), "app.yaml")
	var wait sync.WaitGroup
	for writer := range 3 {
		wait.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestTwoWriters$")
			cmd.Env = append(os.Environ(), "CUPULE_TEST_WRITER="+file, fmt.Sprintf("CUPULE_TEST_NAME=p%d", writer))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
		wait.Go(func() {
			for i := range 10 {
				if err := edit(file, []string{"add", fmt.Sprintf("g%d-%d", writer, i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	cfg, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.MCP) != 60 {
		t.Errorf("%d servers: %v", len(cfg.MCP), sortedKeys(cfg.MCP))
	}
	alone(t, file)
}

// A writer that doesn't come to an end is not waited for without end.
func TestLockWait(t *testing.T) {
	file := write(t, "mcp: {}\n")
	unlock, err := lock(file, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock(file, 10*time.Millisecond); err == nil {
		t.Error("locked twice")
	}
	unlock()
	again, err := lock(file, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

// No place is left in what is compared, whatever fields are added: a file whose lines have
// moved could not be edited.
func TestPlaceless(t *testing.T) {
	cfg := mustParse(t, `
mcp:
  a: {stdio: {command: x}, allowed: {t: {effects: [mutation]}}, resources: {"u:*": {effects: [mutation]}}, prompts: {p: {effects: [mutation]}}}
  b: {http: {url: "https://example.org"}}
operations: {o: {tool: a/t, effects: [mutation], params: {}, result: {}}}
callers: {c: {token_env: T, authorize: [mutation]}}
serve: {listen: [unix:./s]}
`)
	var look func(path string, v reflect.Value)
	look = func(path string, v reflect.Value) {
		switch {
		case !v.IsValid() || v.IsZero():
		case v.Type() == reflect.TypeFor[effects.Position]() || v.Type() == reflect.TypeFor[*effects.Positions]():
			t.Errorf("%s holds a place", path)
		case v.Kind() == reflect.Pointer:
			look(path, v.Elem())
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				look(path+"."+v.Type().Field(i).Name, v.Field(i))
			}
		case v.Kind() == reflect.Map:
			for _, key := range v.MapKeys() {
				look(fmt.Sprint(path, "[", key, "]"), v.MapIndex(key))
			}
		case v.Kind() == reflect.Slice:
			for i := range v.Len() {
				look(fmt.Sprint(path, "[", i, "]"), v.Index(i))
			}
		}
	}
	look("Config", reflect.ValueOf(placeless(cfg)))
}

func TestRemovableNamesUsers(t *testing.T) {
	cfg := mustParse(t, "mcp: {a: {stdio: {command: x}, allowed: {t: {effects: []}}}}\noperations:\n  z: {tool: a/t}\n  b: {tool: a/t}\n")
	err := removable(cfg, "a")
	if err == nil || !strings.Contains(err.Error(), "b (line 4), z (line 3)") {
		t.Error(err)
	}
	if names := slices.Collect(file.names); len(names) != 4 {
		t.Error(names)
	}
}
