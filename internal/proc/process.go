package proc

import (
	"os"
	"sync"
)

// Process is a running child, or one that has run. Close it in any case.
type Process struct {
	child                 *child
	stdin, stdout, stderr *os.File
	tail                  *tail
	readers               sync.WaitGroup // of stderr, and of what is left of stdout
	kept                  chan struct{}  // closed when stderr has been read to its end
	done                  chan struct{}
	exit                  string // written before done is closed
	closing               sync.Once
	report                Report
}

// Start starts a child. Its error is a *StartError.
func Start(s Spec) (*Process, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	p := &Process{tail: newTail(s.Secrets), kept: make(chan struct{}), done: make(chan struct{})}
	theirs, err := p.pipes()
	if err == nil {
		p.child, err = spawn(&s, theirs)
	}
	for _, f := range theirs {
		_ = f.Close()
	}
	if err != nil {
		p.closePipes()
		return nil, s.refused(err)
	}
	go p.wait()
	p.readers.Go(p.keepStderr)
	return p, nil
}

// pipes makes the three pipes and returns the child's ends. With an error it returns
// those that it has made.
func (p *Process) pipes() (theirs []*os.File, err error) {
	in, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.stdin, theirs = stdin, append(theirs, in)
	for _, end := range []**os.File{&p.stdout, &p.stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			return theirs, err
		}
		*end, theirs = r, append(theirs, w)
	}
	widen(p.stdout)
	return theirs, nil
}

func (p *Process) closePipes() {
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		if f != nil {
			_ = f.Close()
		}
	}
}

func (p *Process) wait() {
	p.exit = p.child.wait()
	close(p.done)
}

func (p *Process) keepStderr() {
	defer close(p.kept)
	var buf [4 << 10]byte
	for {
		n, err := p.stderr.Read(buf[:])
		p.tail.write(buf[:n])
		if err != nil {
			return
		}
	}
}

// Stdin returns our end of the child's standard input. Deadlines work on it. Close closes it.
func (p *Process) Stdin() *os.File { return p.stdin }

// Stdout returns our end of the child's standard output. Deadlines work on it. What the
// child has written can be read after its exit, until Close.
func (p *Process) Stdout() *os.File { return p.stdout }

// Stderr returns the end of what the child has written to standard error so far, at most
// StderrTail bytes: secrets masked, control bytes escaped, on one line. It is complete once
// Close is back.
func (p *Process) Stderr() string { return p.tail.String() }

// Pid returns the child's process id, which is also that of its group.
func (p *Process) Pid() int { return p.child.pid }

// Done returns a channel that is closed when the child has exited, the rest of its group
// has been killed, and it has been reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Drained returns a channel that is closed when Stderr is complete: soon after the child's
// exit, unless somebody else holds its standard error.
func (p *Process) Drained() <-chan struct{} { return p.kept }

// Exit says how the child ended, such as "exit status 3" or "killed by SIGKILL". It is
// "still running" before Done is closed.
func (p *Process) Exit() string {
	select {
	case <-p.done:
		return p.exit
	default:
		return stillRunning
	}
}

const stillRunning = "still running"

// Kill sends SIGKILL to the child's group and returns at once. It is meant for a deadline
// that has passed; Close must follow. It does nothing once the child has exited.
func (p *Process) Kill() { p.child.signal(true) }
