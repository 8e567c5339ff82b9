package interop

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
	"time"
)

// checkLeaks sees to it that a test leaves nothing: it runs after every other clean-up.
func checkLeaks(t *testing.T, dir string) {
	t.Helper()
	goroutines, descriptors := runtime.NumGoroutine(), countDescriptors()
	t.Cleanup(func() {
		var left string
		for end := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			left = whatIsLeft(goroutines, descriptors, dir)
			if left == "" {
				return
			}
			if time.Now().After(end) {
				break
			}
		}
		var stacks bytes.Buffer
		_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
		t.Errorf("left behind: %s\n%s", left, stacks.String())
	})
}

func whatIsLeft(goroutines, descriptors int, dir string) string {
	var list []string
	if n := runtime.NumGoroutine() - goroutines; n > 0 {
		list = append(list, fmt.Sprintf("%d goroutines", n))
	}
	if n := countDescriptors() - descriptors; n > 0 {
		list = append(list, fmt.Sprintf("%d descriptors", n))
	}
	return strings.Join(append(list, processes(dir)...), ", ")
}

// countDescriptors counts what this process has open, where the system tells.
func countDescriptors() int {
	list, _ := os.ReadDir("/proc/self/fd")
	return len(list)
}

// processes lists our children, zombies included, and every process, whoever its parent is
// by now, that was started with a path in dir or with our own programs. Only Linux tells.
func processes(dir string) []string {
	var list []string
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		pid := filepath.Base(filepath.Dir(stat))
		if pid == strconv.Itoa(os.Getpid()) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
		command := strings.ReplaceAll(string(bytes.TrimSuffix(line, []byte{0})), "\x00", " ")
		if isChild(stat) || isOurs(command, dir) {
			list = append(list, fmt.Sprintf("process %s (%s)", pid, command))
		}
	}
	return list
}

func isChild(stat string) bool {
	text, _ := os.ReadFile(stat)
	_, rest, ok := strings.Cut(string(text), ") ")
	return ok && len(rest) > 1 && strings.HasPrefix(rest[1:], fmt.Sprintf(" %d ", os.Getpid()))
}

func isOurs(command, dir string) bool {
	built.Lock()
	defer built.Unlock()
	return strings.Contains(command, filepath.Join(dir, "node_modules")) || built.dir != "" && strings.Contains(command, built.dir)
}

func TestLeakCheckCanFail(t *testing.T) {
	p := need(t)
	if runtime.GOOS != "linux" {
		return // goroutines alone are counted there
	}
	child := exec.Command(p.node, "--eval", "process.stdin.resume()")
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if left := processes(p.dir); len(left) != 1 {
		t.Errorf("%q", left)
	}
	_ = in.Close()
	if err := child.Wait(); err != nil {
		t.Error(err)
	}
}
