//go:build linux || darwin

package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestCloseAtEndOfInput(t *testing.T) {
	for _, name := range []string{
		"cat",
		"talk", // is stuck on a full pipe until Close reads on
	} {
		p := start(t, role(name))
		if r := p.Close(guard, guard); r.Exit != "exit status 0" || r.Stage != OnEOF || r.Escaped {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestCloseTakesNoLongerThanItsLimit(t *testing.T) {
	for _, tt := range []struct {
		role, exit string
		stage      Stage
		least      time.Duration
	}{
		{"deaf", "killed by SIGTERM", OnTerm, EOFGrace},
		{"ignore-term", "killed by SIGKILL", OnKill, EOFGrace + TermGrace},
	} {
		t.Run(tt.role, func(t *testing.T) {
			t.Parallel()
			p := start(t, role(tt.role))
			line(t, p)
			r := p.Close()
			if r.Stage == Stuck { // so it was for the system, on a busy machine
				await(t, p)
				r.Exit, r.Stage = p.Exit(), tt.stage
			}
			if r.Exit != tt.exit || r.Stage != tt.stage || r.Escaped || r.Took < tt.least || r.Took > guard {
				t.Errorf("%+v, want %s on %s", r, tt.exit, tt.stage)
			}
		})
	}
	if CloseLimit != 750*time.Millisecond {
		t.Errorf("the stages add up to %v", CloseLimit)
	}
}

func TestCloseWithoutGrace(t *testing.T) {
	p := start(t, role("ignore-term"))
	line(t, p)
	if r := p.Close(0, 0); r.Stage != OnKill || r.Exit != "killed by SIGKILL" {
		t.Errorf("%+v", r)
	}
}

func TestCloseOfAChildThatStopsReading(t *testing.T) {
	p := start(t, role("deaf"))
	line(t, p)
	_ = p.Stdin().SetWriteDeadline(time.Time{})
	wrote := make(chan error)
	go func() {
		_, err := p.Stdin().Write(make([]byte, 1<<20))
		wrote <- err
	}()
	read := make(chan error)
	go func() {
		_, err := p.Stdout().Read(make([]byte, 1))
		read <- err
	}()
	p.Close(0, 0)
	for _, done := range []chan error{wrote, read} {
		select {
		case err := <-done:
			if err == nil {
				t.Error("a write or read into nothing succeeded")
			}
		case <-time.After(guard):
			t.Fatal("Close left somebody waiting")
		}
	}
}

func TestDeadlinesOnPipes(t *testing.T) {
	p := start(t, role("deaf"))
	line(t, p)
	past := time.Now().Add(-time.Second)
	_ = p.Stdin().SetWriteDeadline(past)
	_ = p.Stdout().SetReadDeadline(past)
	_, werr := p.Stdin().Write(make([]byte, 1<<20))
	_, rerr := p.Stdout().Read(make([]byte, 1))
	if !errors.Is(werr, os.ErrDeadlineExceeded) || !errors.Is(rerr, os.ErrDeadlineExceeded) {
		t.Errorf("write: %v, read: %v", werr, rerr)
	}
}

func TestKillEndsAnEndlessRead(t *testing.T) {
	p := start(t, role("ignore-term"))
	line(t, p)
	p.Kill()
	if _, err := io.ReadAll(p.Stdout()); err != nil {
		t.Error(err)
	}
	await(t, p)
	if r := p.Close(); r.Stage != Exited || r.Exit != "killed by SIGKILL" {
		t.Errorf("%+v", r)
	}
}

func TestEscapedDescendant(t *testing.T) {
	p := start(t, role("setsid"))
	var pid int
	// It may write its first bytes before the child names it.
	if _, err := fmt.Sscanf(strings.TrimLeft(line(t, p), "."), "pid %d", &pid); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Stdout().Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	await(t, p)
	if r := p.Close(); r.Stage != Exited || !r.Escaped {
		t.Errorf("%+v, want escaped", r)
	}
	awaitGone(t, pid) // nobody reads its output any more, so it ends itself
}

func TestCloseAndKillTogether(t *testing.T) {
	p := start(t, role("ignore-term"))
	line(t, p)
	var all sync.WaitGroup
	reports := make([]Report, 8)
	for i := range reports {
		all.Go(func() { reports[i] = p.Close() })
		all.Go(p.Kill)
		all.Go(func() { _ = p.Stderr() + p.Exit() })
	}
	all.Wait()
	for _, r := range reports {
		if r != reports[0] || r.Exit != "killed by SIGKILL" {
			t.Errorf("%+v, not %+v", r, reports[0])
		}
	}
}

func TestStderrOfAChild(t *testing.T) {
	s := role("stderr", "the tok", "en is s3cr", "et-\"valu", "e\" and s3cret-\\\"va", "lue\\\"\x1b[31m", "\n")
	s.Secrets = []string{`s3cret-"value"`, ""}
	p := start(t, s)
	for range len(s.Args) - 2 {
		line(t, p)
		fmt.Fprintln(p.Stdin())
	}
	await(t, p)
	p.Close()
	if got, want := p.Stderr(), `the token is [redacted] and [redacted]\x1b[31m`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestStderrFlood(t *testing.T) {
	p := start(t, role("flood"))
	line(t, p)
	p.Close()
	if got := len(p.Stderr()); got != StderrTail {
		t.Errorf("%d bytes kept", got)
	}
	if n := cap(p.tail.buf); n > 4*StderrTail {
		t.Errorf("the buffer grew to %d bytes", n)
	}
}

func TestLastWordsOnStderr(t *testing.T) {
	for range 50 {
		p := start(t, Spec{Path: "/bin/sh", Args: []string{"-c", "echo why >&2; exit 1"}})
		await(t, p)
		p.Close()
		if p.Stderr() != "why" {
			t.Fatalf("%q", p.Stderr())
		}
	}
}

func TestDrainIsBounded(t *testing.T) {
	p := start(t, Spec{Path: "/bin/sh", Args: []string{"-c", "exec cat /dev/zero"}})
	if r := p.Close(guard/20, guard); r.Stage != OnTerm {
		t.Errorf("%+v", r)
	}
	if _, err := p.Stdout().Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}
