package mcpclient

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/cupule/cupule/internal/frame"
	"github.com/cupule/cupule/internal/proc"
	"github.com/cupule/cupule/internal/strictjson"
)

// child is the process behind a pipe.
type child interface {
	Stderr() string
	Done() <-chan struct{}
	Drained() <-chan struct{}
	Exit() string
	Kill()
	Close(grace ...time.Duration) proc.Report
}

// receiver is what the frames of a pipe go to. Its methods run on the pipe's reading goroutine.
type receiver interface {
	// frameLimit is how long the next frame may be.
	frameLimit() int
	// lineRead says that a line has been handled or given up, and that the next may be waited for.
	lineRead()
	// message takes one message. With owned, parts of it may be kept.
	message(m *message, line []byte, owned bool)
	// tooLarge fails the call that an oversized frame answers, if there is one.
	tooLarge(id int64) bool
	// drop counts a notification that was too large.
	drop()
	// gone says that nothing more will come, and how that came about.
	gone(err error, how string)
}

// pipe carries frames to and from a child. It ends with the child.
type pipe struct {
	child child
	in    *frame.Lines
	out   *outbox
	mask  masker
	to    receiver

	stray  strays
	ended  chan struct{} // closed when reading has ended
	closer sync.Once
	closed chan struct{}
	report proc.Report // of the child; set before closed is closed
}

// readBuffer is the size of the buffer that frames are read through.
const readBuffer = 32 << 10

func newPipe(c child, stdin io.WriteCloser, stdout io.Reader, mask masker) *pipe {
	return &pipe{
		child: c, in: frame.NewLines(stdout, readBuffer), out: newOutbox(stdin), mask: mask,
		ended: make(chan struct{}), closed: make(chan struct{}),
	}
}

// start begins to read.
func (k *pipe) start(to receiver, stdout io.Reader) {
	k.to = to
	go k.read()
	go k.watch(stdout)
}

// watch ends the reading when the child is gone but somebody else holds its output, and
// ends the child when it can't be written to any more but stays.
func (k *pipe) watch(stdout io.Reader) {
	written := k.out.done
	for {
		select {
		case <-k.ended:
			return
		case <-k.child.Done():
			if f, ok := stdout.(interface{ SetReadDeadline(time.Time) error }); ok {
				_ = f.SetReadDeadline(time.Now().Add(exitWait))
			}
			return
		case <-written:
			written = nil
			if k.out.err != nil && !k.endsWithin(exitWait) {
				k.child.Kill()
			}
		}
	}
}

func (k *pipe) endsWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-k.ended:
		return true
	case <-timer.C:
		return false
	}
}

func (k *pipe) alive() bool {
	select {
	case <-k.ended:
		return false
	case <-k.out.done:
		return false
	default:
		return true
	}
}

// read handles frames until the stream ends.
func (k *pipe) read() {
	defer close(k.ended)
	err := k.frames()
	if lost(err) {
		k.child.Kill()
	}
	how := k.howEnded()
	k.out.close()
	k.to.gone(err, how)
}

// lost reports whether the stream was given up, rather than ended.
func lost(err error) bool { return errors.Is(err, frame.ErrTooLong) || errors.Is(err, errNoID) }

func (k *pipe) frames() error {
	for first := true; ; first = false {
		// The limit is that of the calls in flight when a line begins, which is when their
		// answers can; while the line is waited for, it may be lower. Next reports the error.
		_, _ = k.in.Buffered().Peek(1)
		if err := k.frame(first); err != nil {
			return err
		}
	}
}

// frame reads and handles one line.
func (k *pipe) frame(first bool) error {
	defer k.to.lineRead()
	line, owned, err := k.in.NextOwned(k.to.frameLimit())
	if errors.Is(err, frame.ErrTooLong) {
		if err = k.oversized(line); err == nil {
			return nil
		}
	}
	if err != nil {
		if len(line) > 0 {
			k.stray.add(k.mask, line)
		}
		return err
	}
	if first {
		line = trimBOM(line)
	}
	k.handle(line, owned)
	return nil
}

// handle takes one frame: a message, or an array of them, as older protocols allow.
func (k *pipe) handle(line []byte, owned bool) {
	if i := strictjson.Space(line, 0); i == len(line) {
		return
	} else if line[i] == '[' && strictjson.Valid(line, maxDepth) == nil {
		for part := range strictjson.Elements(line) {
			m := parse(part)
			k.to.message(&m, part, owned)
		}
		return
	}
	m := parse(line)
	k.to.message(&m, line, owned)
}

var errNoID = errors.New("an oversized line without an id")

// oversized discards the rest of a frame that is longer than any call allows. When it has
// an id, the call fails at once; with none, or without an end, the session is lost.
func (k *pipe) oversized(line []byte) error {
	var s skimmer
	failed := false
	look := func(piece []byte) {
		s.Write(piece)
		if id, ok := s.call(); ok && !failed {
			failed = k.to.tooLarge(id)
		}
	}
	look(line)
	err := k.in.Discard(MaxDiscard, look)
	_, answers := s.call()
	switch {
	case err != nil:
		return err
	case s.method:
		k.to.drop()
	case !answers:
		return errNoID
	}
	return nil
}

// exitWait is how long the end of the output may come before the exit of the child.
const exitWait = 50 * time.Millisecond

func (k *pipe) howEnded() string {
	timer := time.NewTimer(exitWait)
	defer timer.Stop()
	select {
	case <-k.child.Done():
		select {
		case <-k.child.Drained():
		case <-timer.C:
		}
		return k.child.Exit()
	case <-k.out.stop:
		return "closed"
	case <-timer.C:
		return "it closed its output"
	}
}

// close ends the conversation and the child. With now, the child is given no time.
func (k *pipe) close(now bool) {
	k.closer.Do(func() {
		defer close(k.closed)
		if now {
			k.child.Kill()
		}
		k.out.close()
		if now {
			k.report = k.child.Close(0, 0)
		} else {
			k.report = k.child.Close(proc.EOFGrace - k.flush())
		}
		<-k.ended
		<-k.out.done
	})
	<-k.closed
}

// flush gives what is queued, such as the notice of a cancellation, a moment to be
// written, and returns how long that took.
func (k *pipe) flush() time.Duration {
	began := time.Now()
	timer := time.NewTimer(proc.EOFGrace / 5)
	defer timer.Stop()
	select {
	case <-k.out.done:
	case <-timer.C:
	}
	return time.Since(began)
}

func trimBOM(line []byte) []byte {
	if len(line) >= 3 && string(line[:3]) == "\xef\xbb\xbf" {
		return line[3:]
	}
	return line
}

// strays counts what a peer sent that is no message, and keeps a sample.
type strays struct {
	mu     sync.Mutex
	count  int
	sample string
}

func (s *strays) add(m masker, line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	if s.sample == "" {
		s.sample = m.untrusted(string(line[:min(len(line), FrameOverhead)]), MaxMessage/4)
	}
}

func (s *strays) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count == 0 {
		return ""
	}
	return fmt.Sprintf("%d of its lines belong to no call, the first is: %s", s.count, s.sample)
}
