//go:build linux || darwin

package proc

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A child is this test binary with two arguments: childArg and a role.
const childArg = "proc-test-child"

// guard ends a test that hangs. No test waits for it to pass.
const guard = 10 * time.Second

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == childArg {
		if os.Args[2] == "describe" {
			describe()
			syscall.Exit(0)
		}
		// A child whose test died must not stay behind.
		time.AfterFunc(6*guard, func() { os.Exit(99) })
		roles()[os.Args[2]](os.Args[3:])
		syscall.Exit(0) // os.Exit would take a second more under the race detector
	}
	os.Exit(m.Run())
}

// roles are what a child does. It gets the arguments behind its role.
func roles() map[string]func([]string) {
	return map[string]func([]string){
		"cat":         func([]string) { _, _ = io.Copy(os.Stdout, os.Stdin) },
		"exit":        func([]string) { syscall.Exit(3) },
		"suicide":     func([]string) { _ = unix.Kill(os.Getpid(), unix.SIGKILL); select {} },
		"deaf":        func([]string) { say("ready"); select {} },
		"ignore-term": func([]string) { signal.Ignore(syscall.SIGTERM); say("ready"); select {} },
		"stderr":      func(args []string) { inPieces(args) },
		"flood": func([]string) {
			line := []byte(strings.Repeat("x", 1023) + "\n")
			for range 8 << 10 {
				_, _ = os.Stderr.Write(line)
			}
			say("ready")
		},
		"talk":       func([]string) { _, _ = os.Stdout.Write(make([]byte, 512<<10)) },
		"grandchild": func([]string) { fork(&syscall.SysProcAttr{}, "hold") },
		"hold":       func([]string) { signal.Ignore(syscall.SIGTERM); select {} },
		"setsid":     func([]string) { fork(&syscall.SysProcAttr{Setsid: true}, "until-broken") },
		"until-broken": func([]string) {
			signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
			for {
				if _, err := os.Stdout.Write([]byte(".")); err != nil {
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		},
	}
}

func say(line string) { fmt.Println(line) }

// inPieces writes each argument to stderr by itself, in step with the test.
func inPieces(args []string) {
	in := bufio.NewReader(os.Stdin)
	for _, piece := range args {
		_, _ = os.Stderr.WriteString(piece)
		say("next")
		_, _ = in.ReadString('\n')
	}
}

// fork starts another child on the same pipes, prints its id, and leaves it.
func fork(attr *syscall.SysProcAttr, role string) {
	cmd := exec.Command(os.Args[0], childArg, role)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = os.Stdout, os.Stderr, attr
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	fmt.Println("pid", cmd.Process.Pid)
}

// describe prints what a child has got.
func describe() {
	fmt.Println("args", strings.Join(os.Args[3:], "|"))
	fmt.Println("env", strings.Join(os.Environ(), "|"))
	dir, _ := os.Getwd()
	fmt.Println("dir", dir)
	fmt.Println("leader", syscall.Getpgrp() == os.Getpid())
	for fd := range 1024 {
		// What the runtime of this program opened for itself is closed on exec.
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if fd > 2 && err == nil && flags&unix.FD_CLOEXEC == 0 {
			to, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
			fmt.Println("extra", fd, to)
		}
		if flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); fd <= 2 && flags&unix.O_NONBLOCK != 0 {
			fmt.Println("nonblocking", fd)
		}
	}
	fmt.Println("end")
}

func role(name string, args ...string) Spec {
	return Spec{Name: "peer", Path: os.Args[0], Args: append([]string{childArg, name}, args...)}
}

func start(t *testing.T, s Spec) *Process {
	t.Helper()
	p, err := Start(s)
	if err != nil {
		t.Fatal(err)
	}
	_ = p.Stdout().SetReadDeadline(time.Now().Add(guard))
	_ = p.Stdin().SetWriteDeadline(time.Now().Add(guard))
	t.Cleanup(func() { p.Close(0, 0) })
	return p
}

// line reads one line of the child's output.
func line(t *testing.T, p *Process) string {
	t.Helper()
	var text []byte
	for b := make([]byte, 1); ; {
		if _, err := p.Stdout().Read(b); err != nil {
			t.Fatalf("after %q: %v", text, err)
		}
		if b[0] == '\n' {
			return string(text)
		}
		text = append(text, b[0])
	}
}

func await(t *testing.T, p *Process) {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(guard):
		t.Fatal("the child doesn't end")
	}
}

// awaitGone waits until a process that isn't ours to reap is gone, or a zombie.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(guard); ; time.Sleep(time.Millisecond) {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, state, _ := strings.Cut(string(stat), ") ")
		if unix.Kill(pid, 0) == unix.ESRCH || strings.HasPrefix(state, "Z") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d is still there", pid)
		}
	}
}
