package interop

import (
	"bufio"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// log collects the lines that a process writes.
type log struct {
	mu    sync.Mutex
	lines []string
	grown chan struct{} // closed and replaced at each line
	done  chan struct{}
}

func newLog(r io.Reader) *log {
	l := &log{grown: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		for scan := bufio.NewScanner(r); scan.Scan(); {
			l.mu.Lock()
			l.lines = append(l.lines, scan.Text())
			close(l.grown)
			l.grown = make(chan struct{})
			l.mu.Unlock()
		}
	}()
	return l
}

func (l *log) wait() { <-l.done }

func (l *log) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

// find waits for a line with a mark in it and returns what follows the mark.
func (l *log) find(t *testing.T, mark string) string {
	t.Helper()
	hang := time.After(guard)
	for {
		l.mu.Lock()
		grown := l.grown
		for _, text := range l.lines {
			if _, rest, ok := strings.Cut(text, mark); ok {
				l.mu.Unlock()
				return rest
			}
		}
		l.mu.Unlock()
		select {
		case <-grown:
		case <-l.done:
			t.Fatalf("it ended without %q:\n%s", mark, l.text())
		case <-hang:
			t.Fatalf("there was no %q within %v:\n%s", mark, guard, l.text())
		}
	}
}
