package jsonrpcserver

import (
	"strings"
	"sync"
	"time"
)

// throttle lets a few lines of one kind be logged in a second, whoever causes them, and
// counts the others.
type throttle struct {
	mu      sync.Mutex // guards what follows
	until   time.Time
	logged  int
	skipped int
}

// loggedEach is how many lines of one kind are logged in a second.
const loggedEach = 10

// log calls line if it is time for one, with how many were left out before it.
func (t *throttle) log(line func(skipped int)) {
	t.mu.Lock()
	now := time.Now()
	if now.After(t.until) {
		t.until, t.logged = now.Add(time.Second), 0
	}
	if t.logged == loggedEach {
		t.skipped++
		t.mu.Unlock()
		return
	}
	t.logged++
	skipped := t.skipped
	t.skipped = 0
	t.mu.Unlock()
	line(skipped)
}

// failedToAuthenticate tells the log of a wrong or missing token.
func (s *Server) failedToAuthenticate(origin, peer, reason string) {
	s.failures.log(func(skipped int) {
		s.opts.Logger.Warn("authentication failed", "origin", origin, "peer", peer, "reason", reason, "left_out", skipped)
	})
}

// webLog is where package http writes what it complains of, such as failed handshakes.
type webLog struct{ server *Server }

// Write takes one complaint.
func (w webLog) Write(line []byte) (int, error) {
	w.server.complaints.log(func(skipped int) {
		w.server.opts.Logger.Warn(strings.TrimSpace(string(line)), "left_out", skipped)
	})
	return len(line), nil
}
