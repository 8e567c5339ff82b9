//go:build linux || darwin

package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestChildGetsWhatIsNamedAndNothingElse(t *testing.T) {
	// A descriptor that this process would pass on, as one that it was started with.
	inherited, err := syscall.Dup(0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(inherited)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOST_SECRET", "not for children")
	for _, env := range [][]string{nil, {}, {"A=1", "B=two words", "A=3"}} {
		s := role("describe", "a b", "$HOME", "", "*")
		s.Dir, s.Env = dir, env
		p := start(t, s)
		got, err := io.ReadAll(p.Stdout())
		if err != nil {
			t.Fatal(err)
		}
		want := "args a b|$HOME||*\nenv " + strings.Join(env, "|") + "\ndir " + dir + "\nleader true\nend\n"
		if want = strings.Replace(want, "A=1|B=two words|A=3", strings.Join(environOf(env), "|"), 1); string(got) != want {
			t.Errorf("environment %q:\n%s", env, cmp.Diff(want, string(got)))
		}
	}
}

// environOf is how os.Environ shows a list: the last of two wins nothing, the first is hidden.
func environOf(env []string) []string {
	if len(env) == 3 {
		return env[:2:2]
	}
	return env
}

func TestStartRefused(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := write("plain", "#!/bin/sh\n", 0o600)
	for _, tt := range []struct {
		spec Spec
		want Reason
	}{
		{Spec{Path: ""}, NotFound},
		{Spec{Path: dir + "/missing"}, NotFound},
		{Spec{Path: plain + "/below"}, NotFound},
		{Spec{Path: "missing", Dir: dir}, NotFound},
		{Spec{Path: dir}, Directory},
		{Spec{Path: plain}, NotPermitted},
		{Spec{Path: "plain", Dir: dir}, NotPermitted},
		{Spec{Path: write("script", "#!/no/such/interpreter\n", 0o700)}, BadInterpreter},
		{Spec{Path: write("data", "no program", 0o700)}, BadFormat},
		{Spec{Path: os.Args[0], Dir: dir + "/missing"}, BadDir},
		{Spec{Path: os.Args[0], Dir: plain}, BadDir},
		{Spec{Path: os.Args[0], Args: []string{"a\x00b"}}, BadArgument},
		{Spec{Path: os.Args[0], Env: []string{"A=\x00"}}, BadArgument},
		{Spec{Path: os.Args[0], Args: []string{strings.Repeat("x", 8<<20)}}, BadArgument},
	} {
		tt.spec.Name = "peer"
		_, err := Start(tt.spec)
		var refused *StartError
		if !errors.As(err, &refused) || refused.Reason != tt.want {
			t.Errorf("%q in %q: %v, want a command that %s", tt.spec.Path, tt.spec.Dir, err, tt.want)
			continue
		}
		if text := err.Error(); !strings.HasPrefix(text, "peer: the command "+tt.spec.Path) || errors.Unwrap(err) != refused.Err {
			t.Errorf("error text: %s", text)
		}
	}
}

func TestStartWaitsForABusyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "busy")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nexit 7\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	_, err = Start(Spec{Path: path})
	var refused *StartError
	if !errors.As(err, &refused) || refused.Reason != Busy {
		t.Skipf("this system runs files that are written to: %v", err)
	}
	_ = writer.Close()
	p := start(t, Spec{Path: path})
	await(t, p)
	if p.Exit() != "exit status 7" {
		t.Error(p.Exit())
	}
}

func TestExit(t *testing.T) {
	for _, tt := range []struct{ role, want string }{
		{"exit", "exit status 3"},
		{"suicide", "killed by SIGKILL"},
	} {
		p := start(t, role(tt.role))
		await(t, p)
		if r := p.Close(); p.Exit() != tt.want || r.Exit != tt.want || r.Stage != Exited || r.Escaped {
			t.Errorf("%s: %q, %+v", tt.role, p.Exit(), r)
		}
	}
}

func TestOutputOutlivesTheChild(t *testing.T) {
	p := start(t, role("cat"))
	if p.Exit() != stillRunning || p.Pid() <= 0 {
		t.Errorf("%s, process %d", p.Exit(), p.Pid())
	}
	fmt.Fprint(p.Stdin(), "the last words")
	_ = p.Stdin().Close()
	await(t, p)
	if got, err := io.ReadAll(p.Stdout()); err != nil || string(got) != "the last words" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestGroupDiesWithItsLeader(t *testing.T) {
	p := start(t, role("grandchild"))
	var pid int
	if _, err := fmt.Sscanf(line(t, p), "pid %d", &pid); err != nil {
		t.Fatal(err)
	}
	await(t, p)
	if r := p.Close(); r.Stage != Exited || r.Escaped {
		t.Errorf("%+v", r)
	}
	awaitGone(t, pid)
}

func TestNoSignalAfterReaping(t *testing.T) {
	p := start(t, role("exit"))
	await(t, p)
	// From here on the id may be anybody's. Put our own group in its place.
	p.child.pid = unix.Getpgrp()
	p.Kill()
	p.child.signal(false)
}
