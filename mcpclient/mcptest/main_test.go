package mcptest

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// guard ends a test that hangs. No test waits for it to pass.
const guard = 20 * time.Second

func TestMain(m *testing.M) {
	Main()
	code := m.Run()
	if left := leftovers(); code == 0 && left != "" {
		fmt.Fprintln(os.Stderr, "left behind:", left)
		code = 1
	}
	os.Exit(code)
}

// leftovers waits a moment for goroutines and children to end, and tells of those that don't.
func leftovers() string {
	var left string
	for range 500 {
		left = children()
		if n := runtime.NumGoroutine(); n > 2 {
			stacks := make([]byte, 64<<10)
			left += fmt.Sprintf("%d goroutines\n%s", n, stacks[:runtime.Stack(stacks, true)])
		}
		if left == "" {
			return ""
		}
		time.Sleep(10 * time.Millisecond)
	}
	return left
}

func children() string {
	processes, _ := os.ReadDir("/proc") // elsewhere there is none to read
	var found strings.Builder
	for _, entry := range processes {
		stat, _ := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if _, rest, ok := strings.Cut(string(stat), ") "); ok && strings.HasPrefix(rest[1:], fmt.Sprintf(" %d ", os.Getpid())) {
			found.WriteString("child " + entry.Name() + " ")
		}
	}
	return found.String()
}
