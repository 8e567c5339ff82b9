package proc

import (
	"io"
	"time"
)

// The stages of Close.
const (
	// EOFGrace is how long a child may take to exit by itself when its standard input has ended.
	EOFGrace = 250 * time.Millisecond
	// TermGrace is how long its group may take to exit on SIGTERM.
	TermGrace = 250 * time.Millisecond
	// KillGrace is how long, at least, the system may take to end a group on SIGKILL.
	KillGrace = 130 * time.Millisecond
	// EscapeGrace is how long, at least, the pipes may take to be let go of after that.
	EscapeGrace = 100 * time.Millisecond
	stderrGrace = 20 * time.Millisecond
	// CloseLimit is how long Close takes at most, with the default graces.
	CloseLimit = EOFGrace + TermGrace + KillGrace + EscapeGrace + stderrGrace
	// DrainLimit is how much standard output Close reads on, in bytes.
	DrainLimit = 1 << 20
)

// Stage is what it took to end a child.
type Stage string

// The stages, in the order in which Close comes to them.
const (
	// Exited: it had exited before Close began.
	Exited Stage = "exited"
	// OnEOF: it exited when its standard input ended.
	OnEOF Stage = "end of input"
	// OnTerm: it exited after SIGTERM.
	OnTerm Stage = "SIGTERM"
	// OnKill: it had to be killed.
	OnKill Stage = "SIGKILL"
	// Stuck: the system did not end it in time even so. It is waited for, and reaped, later.
	Stuck Stage = "stuck"
)

// Report says how a child ended.
type Report struct {
	// Exit is that of Process.Exit.
	Exit  string
	Stage Stage
	// Escaped says that somebody still held the child's standard output or standard error
	// when the whole group was gone: a descendant that left the group. It may still run.
	Escaped bool
	// Took is the time from the first Close to its end.
	Took time.Duration
}

// Close ends the child and its whole group, and closes the pipes. Standard input is closed,
// then the group gets SIGTERM, then SIGKILL; a child that exits earlier costs no more time.
// The first grace replaces EOFGrace, the second TermGrace; zero skips the wait. Only the first call does
// this; every other waits for it and returns the same report.
func (p *Process) Close(grace ...time.Duration) Report {
	p.closing.Do(func() {
		began := time.Now()
		p.report.Stage = p.end(began, graces(grace))
		p.report.Escaped = p.report.Stage != Stuck && p.child.escaped(remaining(began, EscapeGrace), p.stdout, p.stderr)
		p.finishStderr()
		p.closePipes()
		p.readers.Wait()
		p.report.Exit = p.Exit()
		p.report.Took = time.Since(began)
	})
	return p.report
}

func graces(given []time.Duration) [2]time.Duration {
	g := [2]time.Duration{EOFGrace, TermGrace}
	copy(g[:], given)
	return g
}

// end brings the child to its end and says what it took.
func (p *Process) end(began time.Time, grace [2]time.Duration) Stage {
	gone := p.within(0)
	_ = p.stdin.Close()
	if gone {
		return Exited
	}
	p.readers.Go(p.drain)
	if p.within(grace[0]) {
		return OnEOF
	}
	p.child.signal(false)
	if p.within(grace[1]) {
		return OnTerm
	}
	p.child.signal(true)
	if p.within(remaining(began, KillGrace+EscapeGrace) - EscapeGrace) {
		return OnKill
	}
	return Stuck
}

// remaining is what the stages before have left of the limit, or least if that is more: a
// busy system takes its time.
func remaining(began time.Time, least time.Duration) time.Duration {
	return max(CloseLimit-stderrGrace-time.Since(began), least)
}

// finishStderr waits until the end of stderr has been read, and not much longer where
// somebody holds on to it.
func (p *Process) finishStderr() {
	if p.stderr.SetReadDeadline(time.Now().Add(stderrGrace)) == nil {
		<-p.kept
	}
}

// drain reads on, so that a child stuck on a full pipe comes to see the end of its input.
// It ends when the pipe is closed.
func (p *Process) drain() { _, _ = io.CopyN(io.Discard, p.stdout, DrainLimit) }

// within reports whether the child is gone within d.
func (p *Process) within(d time.Duration) bool {
	select {
	case <-p.done:
		return true
	default:
	}
	if d <= 0 {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}
