package proc

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestNothingIsLeft(t *testing.T) {
	round := func() {
		for _, name := range []string{"cat", "exit", "grandchild"} {
			p := start(t, role(name))
			if name == "grandchild" {
				line(t, p)
			}
			p.Close()
		}
		p := start(t, role("ignore-term"))
		line(t, p)
		p.Close(0, 0)
		if _, err := Start(Spec{Path: "/no/such/file"}); err == nil {
			t.Fatal("started nothing")
		}
	}
	round()
	before := resources(t)
	for range 25 {
		round()
	}
	for deadline := time.Now().Add(guard); ; time.Sleep(time.Millisecond) {
		after := resources(t)
		if after == before {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("before: %s; after 100 starts: %s", before, after)
		}
	}
}

// resources counts what this process holds.
func resources(t *testing.T) string {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	all, _ := os.ReadDir("/proc")
	children := 0
	for _, entry := range all {
		stat, _ := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if _, rest, ok := strings.Cut(string(stat), ") "); ok && strings.HasPrefix(rest[1:], fmt.Sprintf(" %d ", os.Getpid())) {
			children++
		}
	}
	return fmt.Sprintf("%d descriptors, %d children, %d goroutines", len(fds), children, runtime.NumGoroutine())
}

// The environment of a process as the kernel has it, duplicates and all.
func TestEnvironmentIsExact(t *testing.T) {
	for _, env := range [][]string{nil, {"A=1", "A=2", "odd"}} {
		s := role("deaf")
		s.Env = env
		p := start(t, s)
		line(t, p)
		got, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.Pid()))
		want := strings.Join(env, "\x00")
		if err != nil || strings.TrimSuffix(string(got), "\x00") != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
		p.Close(0, 0)
	}
}
