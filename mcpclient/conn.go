package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cupule/cupule/internal/frame"
	"github.com/cupule/cupule/internal/proc"
	"github.com/cupule/cupule/registry"
)

// child is the process behind a connection.
type child interface {
	Stderr() string
	Done() <-chan struct{}
	Exit() string
	Kill()
	Close(grace ...time.Duration) proc.Report
}

// conn is a conversation over a child's pipes. Its requests are in flight together and do
// not wait for each other.
type conn struct {
	child child
	in    *frame.Lines
	out   *outbox
	notes *notes // of the session; nil drops them
	mask  masker

	agreed atomic.Pointer[agreement]
	stray  strays
	calls  calls
	ended  chan struct{} // closed when reading has ended
	closer sync.Once
	closed chan struct{}
	report proc.Report // of the child; set before closed is closed
}

// readBuffer is the size of the buffer that frames are read through.
const readBuffer = 32 << 10

func newConn(c child, stdin io.WriteCloser, stdout io.Reader, mask masker, n *notes) *conn {
	k := &conn{
		child: c, in: frame.NewLines(stdout, readBuffer), out: newOutbox(stdin), notes: n, mask: mask,
		ended: make(chan struct{}), closed: make(chan struct{}),
	}
	k.calls.init()
	k.agreed.Store(&agreement{})
	go k.read()
	go k.watch(stdout)
	return k
}

// watch ends the reading when the child is gone but somebody else holds its output.
func (k *conn) watch(stdout io.Reader) {
	select {
	case <-k.ended:
		return
	case <-k.child.Done():
	}
	if f, ok := stdout.(interface{ SetReadDeadline(time.Time) error }); ok {
		_ = f.SetReadDeadline(time.Now().Add(exitWait))
	}
}

func (k *conn) adopt(a *agreement) { k.agreed.Store(a) }

func (k *conn) alive() bool {
	select {
	case <-k.ended:
		return false
	case <-k.out.done:
		return false
	default:
		return true
	}
}

func (k *conn) over() <-chan struct{} { return k.ended }

func (k *conn) evidence() evidence {
	return evidence{stderr: k.mask.mask(k.child.Stderr()), strays: k.stray.String()}
}

func (k *conn) do(ctx context.Context, r *request) (json.RawMessage, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx, registry.NotSent)
	}
	p, err := k.calls.add(r)
	if err != nil {
		return nil, err
	}
	buf := frames.Get().(*[]byte)
	*buf = append(k.agreed.Load().appendRequest((*buf)[:0], p.id, r), '\n')
	p.parcel.buf = buf
	if err := k.out.put(ctx, p.parcel); err != nil && !errors.Is(err, errOutboxClosed) {
		if k.calls.take(p.id) != nil {
			return nil, ended(ctx, registry.NotSent)
		}
	}
	return k.await(ctx, p, r)
}

// await waits for the answer. When the peer is gone, read answers in its place.
func (k *conn) await(ctx context.Context, p *pending, r *request) (json.RawMessage, error) {
	for {
		select {
		case a := <-p.answer:
			p.drain(r.progress)
			return a.result, a.err
		case report := <-p.progress:
			r.progress(report)
		case <-ctx.Done():
			if k.calls.take(p.id) == nil {
				a := <-p.answer
				return a.result, a.err
			}
			return nil, k.abandon(ctx, p)
		}
	}
}

// stall is how long a frame of an abandoned call may still be on its way into the pipe.
const stall = time.Second

// abandon gives up a call: the server is told, and a late answer finds no call.
func (k *conn) abandon(ctx context.Context, p *pending) error {
	err := ended(ctx, p.parcel.ran())
	if err.Ran == registry.NotSent {
		return err
	}
	if p.parcel.state.Load() == taken {
		time.AfterFunc(stall, func() {
			if p.parcel.state.Load() == taken {
				k.child.Kill()
			}
		})
	}
	reason := "cancelled"
	if err.Kind == registry.KindTimeout {
		reason = "timed out"
	}
	k.offer(appendNotification(nil, "notifications/cancelled", `{"requestId":`+strconv.FormatInt(p.id, 10)+`,"reason":"`+reason+`"}`))
	return err
}

func (k *conn) offer(line []byte) bool { return k.out.offer(append(line, '\n')) }

func (k *conn) notify(ctx context.Context, method, params string) error {
	line := append(appendNotification(nil, method, params), '\n')
	if err := k.out.put(ctx, &parcel{buf: &line}); err != nil {
		return failure(registry.KindUnavailable, registry.NotSent, "the server has gone")
	}
	return nil
}

func (k *conn) interrupt(e *registry.Error) {
	k.calls.fail(func(ran registry.Ran) *registry.Error { return failure(e.Kind, ran, "%s", e.Message) })
}

// close ends the conversation and the child. With now, the child is given no time.
func (k *conn) close(now bool) {
	k.closer.Do(func() {
		defer close(k.closed)
		k.interrupt(errClosed)
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
func (k *conn) flush() time.Duration {
	began := time.Now()
	timer := time.NewTimer(proc.EOFGrace / 5)
	defer timer.Stop()
	select {
	case <-k.out.done:
	case <-timer.C:
	}
	return time.Since(began)
}

// read handles frames until the stream ends, then answers every call that is in flight.
func (k *conn) read() {
	defer close(k.ended)
	end := k.post(k.frames())
	k.out.close()
	k.calls.fail(end)
}

func (k *conn) frames() error {
	for first := true; ; first = false {
		// The limit is that of the calls in flight when a line begins, which is when their
		// answers can; while the line is waited for, it may be lower. Next reports the error.
		_, _ = k.in.Buffered().Peek(1)
		line, owned, err := k.in.NextOwned(k.calls.frameLimit())
		if errors.Is(err, frame.ErrTooLong) {
			err = k.oversized(line)
			if err == nil {
				continue
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
	}
}

var errNoID = errors.New("an oversized line without an id")

// exitWait is how long the end of the output may come before the exit of the child.
const exitWait = 50 * time.Millisecond

// post says how a call is answered when the stream has ended.
func (k *conn) post(err error) func(registry.Ran) *registry.Error {
	lost := errors.Is(err, frame.ErrTooLong) || errors.Is(err, errNoID)
	if lost {
		k.child.Kill()
	}
	how := k.howEnded()
	return func(ran registry.Ran) *registry.Error {
		if lost && ran == registry.Sent {
			e := failure(registry.KindOutcomeUnknown, ran, "the server wrote an oversized line that answers no call, and the session was ended")
			return limited(e, registry.Limit{Name: "discarded bytes", Whose: "the session", Bytes: MaxDiscard})
		}
		if ran == registry.NotSent {
			return failure(registry.KindUnavailable, ran, "the server has gone (%s)", how)
		}
		return failure(registry.KindOutcomeUnknown, ran, "the server has gone without an answer (%s)", how)
	}
}

func (k *conn) howEnded() string {
	timer := time.NewTimer(exitWait)
	defer timer.Stop()
	select {
	case <-k.child.Done():
		return k.child.Exit()
	case <-k.out.stop:
		return "closed"
	case <-timer.C:
		return "it closed its output"
	}
}

func appendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }

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
