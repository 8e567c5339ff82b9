package jsonrpcserver

import "time"

// Idle workers: how many wait for a call, and for how long.
const (
	maxIdleWorkers = 32
	workerIdle     = time.Second
)

// start runs an admitted call on a worker that waits, or else on a new one. A worker that
// has run calls before has the stack that they need, which is most of what a goroutine
// for each would cost.
func (f *flight) start() {
	s := f.stream.server
	select {
	case s.handoff <- f:
	default:
		s.live.Add(1) // the call is live, so this can't meet a Wait at zero
		go s.work(f)
	}
}

// work runs one call, and then others for as long as they come.
func (s *Server) work(f *flight) {
	defer s.live.Done()
	f.run()
	if s.idle.Add(1) > maxIdleWorkers {
		s.idle.Add(-1)
		return
	}
	defer s.idle.Add(-1)
	timer := time.NewTimer(workerIdle)
	defer timer.Stop()
	for {
		select {
		case f := <-s.handoff:
			f.run()
			timer.Reset(workerIdle)
		case <-timer.C:
			return
		case <-s.drained:
			return
		}
	}
}
