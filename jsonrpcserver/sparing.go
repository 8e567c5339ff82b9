package jsonrpcserver

import (
	"sync"
	"time"
)

// sparing lets a few lines of one kind be logged in a second, whoever causes them, and
// counts the others.
type sparing struct {
	mu      sync.Mutex // guards what follows
	until   time.Time
	logged  int
	skipped int
}

// loggedEach is how many lines of one kind are logged in a second.
const loggedEach = 10

// log calls line if it is time for one, with how many were left out before it.
func (s *sparing) log(line func(skipped int)) {
	s.mu.Lock()
	now := time.Now()
	if now.After(s.until) {
		s.until, s.logged = now.Add(time.Second), 0
	}
	if s.logged == loggedEach {
		s.skipped++
		s.mu.Unlock()
		return
	}
	s.logged++
	skipped := s.skipped
	s.skipped = 0
	s.mu.Unlock()
	line(skipped)
}

// failedToAuthenticate tells the log of a wrong or missing token.
func (s *Server) failedToAuthenticate(origin, peer, reason string) {
	s.failures.log(func(skipped int) {
		s.opts.Logger.Warn("authentication failed", "origin", origin, "peer", peer, "reason", reason, "left_out", skipped)
	})
}
