package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/cupule/cupule/registry"
)

// conn is a conversation over a child's pipes. Its requests are in flight together and do
// not wait for each other.
type conn struct {
	*pipe
	notes  *notes // of the session; nil drops them
	agreed atomic.Pointer[agreement]
	calls  calls

	reading *place // for the line that is being read; of the reading goroutine
}

func newConn(c child, stdin io.WriteCloser, stdout io.Reader, mask masker, n *notes) *conn {
	k := &conn{pipe: newPipe(c, stdin, stdout, mask), notes: n}
	k.calls.init()
	k.agreed.Store(&agreement{})
	k.in.Bound(largeList, k.claim)
	k.start(k, stdout)
	return k
}

func (k *conn) adopt(a *agreement) { k.agreed.Store(a) }

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
	if err := k.out.put(ctx, &p.parcel); err != nil && !errors.Is(err, errOutboxClosed) {
		if k.calls.take(p.id) != nil {
			return nil, ended(ctx, registry.NotSent)
		}
	}
	return k.await(ctx, p, r)
}

// await waits for the answer. When the peer is gone, gone answers in its place.
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
			return nil, k.abandon(ctx, p, r)
		}
	}
}

// stall is how long a frame of an abandoned call may still be on its way into the pipe.
const stall = time.Second

// abandon gives up a call: the server is told, and a late answer finds no call.
func (k *conn) abandon(ctx context.Context, p *pending, r *request) error {
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
	if !r.cancellable() {
		return err
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
	k.calls.fail(func(ran registry.Ran) *registry.Error { return interrupted(e, ran) })
}

// close ends the conversation and the child. With now, the child is given no time.
func (k *conn) close(now bool) {
	k.interrupt(errClosed)
	k.pipe.close(now)
}

// gone answers every call that is in flight when the stream has ended.
func (k *conn) gone(err error, how string) {
	k.calls.fail(func(ran registry.Ran) *registry.Error {
		switch {
		case ran == registry.NotSent:
			return failure(registry.KindUnavailable, ran, "the server has gone (%s)", how)
		case lost(err):
			e := failure(registry.KindOutcomeUnknown, ran, "the server wrote an oversized line that answers no call, and the session was ended")
			return limited(e, registry.Limit{Name: "discarded bytes", Whose: "the session", Bytes: MaxDiscard})
		}
		return failure(registry.KindOutcomeUnknown, ran, "the server has gone without an answer (%s)", how)
	})
}

func appendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }
