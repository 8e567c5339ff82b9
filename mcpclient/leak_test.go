package mcpclient

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// residue is what a test may leave behind.
type residue struct{ goroutines, descriptors, children int }

func measure() residue {
	r := residue{goroutines: runtime.NumGoroutine()}
	files, _ := os.ReadDir("/proc/self/fd")
	r.descriptors = len(files)
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		r.children += len(strings.Fields(string(text)))
	}
	return r
}

func (r residue) beyond(before residue) bool {
	return r.goroutines > before.goroutines || r.descriptors > before.descriptors || r.children > before.children
}

// wantNothingLeft waits a moment for what is on its way out, and fails with what stays.
func wantNothingLeft(t testing.TB, before residue) residue {
	t.Helper()
	after := measure()
	for end := time.Now().Add(2 * time.Second); after.beyond(before) && time.Now().Before(end); after = measure() {
		time.Sleep(5 * time.Millisecond)
	}
	left := residue{after.goroutines - before.goroutines, after.descriptors - before.descriptors, after.children - before.children}
	if after.beyond(before) {
		buf := make([]byte, 1<<20)
		t.Errorf("left behind: %+v\n%s", left, buf[:runtime.Stack(buf, true)])
	}
	return left
}
