package mcpclient

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/cupule/cupule/registry"
)

// The states of a parcel. It is withdrawn only while it waits.
const (
	waiting int32 = iota
	taken         // being written, or written in part
	written
	withdrawn
	refused // nothing of it was written
)

// parcel is one frame on its way to the peer.
type parcel struct {
	buf   *[]byte // the outbox's, once it is queued
	state atomic.Int32
}

// ran says what a call whose answer never came must be taken for.
func (p *parcel) ran() registry.Ran {
	if p.withdraw() {
		return registry.NotSent
	}
	return registry.Sent
}

// withdraw takes the frame back if nothing of it was written yet.
func (p *parcel) withdraw() bool {
	return p.state.CompareAndSwap(waiting, withdrawn) || p.state.Load() == refused
}

// outbox writes frames to a peer that may stop reading at any time: from a goroutine of
// its own, so that no caller waits for the peer longer than it wants to. Frames that wait
// together are written together.
type outbox struct {
	w     io.WriteCloser
	queue chan *parcel
	stop  chan struct{}
	once  sync.Once
	done  chan struct{}
	err   error // why writing ended; set before done is closed
}

const (
	outboxQueue = 128
	outboxBatch = 32 << 10
)

var errOutboxClosed = errors.New("the connection is closed")

// frames holds buffers for frames.
var frames = sync.Pool{New: func() any { return new([]byte) }}

// release takes a small buffer back; a large one may have been written from directly.
func release(buf *[]byte) {
	if cap(*buf) < outboxBatch {
		*buf = (*buf)[:0]
		frames.Put(buf)
	}
}

func newOutbox(w io.WriteCloser) *outbox {
	o := &outbox{w: w, queue: make(chan *parcel, outboxQueue), stop: make(chan struct{}), done: make(chan struct{})}
	go o.run()
	return o
}

// put queues a frame, and waits for room while ctx lasts.
func (o *outbox) put(ctx context.Context, p *parcel) error {
	select {
	case <-o.stop:
		return errOutboxClosed
	case <-o.done:
		return errOutboxClosed
	default:
	}
	select {
	case o.queue <- p:
		return nil
	case <-o.done:
		return errOutboxClosed
	case <-o.stop:
		return errOutboxClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// offer queues a frame if there is room.
func (o *outbox) offer(buf []byte) bool {
	select {
	case <-o.stop:
		return false
	case <-o.done:
		return false
	default:
	}
	select {
	case o.queue <- &parcel{buf: &buf}:
		return true
	default:
		return false
	}
}

// close ends the outbox: what waits is still written, then the stream is closed.
func (o *outbox) close() { o.once.Do(func() { close(o.stop) }) }

func (o *outbox) run() {
	defer close(o.done)
	defer o.w.Close()
	var batch []byte
	var parcels []*parcel
	for {
		select {
		case p := <-o.queue:
			batch, parcels = o.gather(batch[:0], parcels[:0], p)
		case <-o.stop:
			select {
			case p := <-o.queue:
				batch, parcels = o.gather(batch[:0], parcels[:0], p)
			default:
				return
			}
		}
		if o.err = o.write(batch, parcels); o.err != nil {
			o.refuse()
			return
		}
		if cap(batch) > 2*outboxBatch {
			batch = nil
		}
		clear(parcels)
	}
}

// gather takes p and what waits behind it, up to a batch.
func (o *outbox) gather(batch []byte, parcels []*parcel, p *parcel) ([]byte, []*parcel) {
	for {
		if p.state.CompareAndSwap(waiting, taken) {
			parcels = append(parcels, p)
			if len(batch) == 0 && len(*p.buf) >= outboxBatch {
				return *p.buf, parcels
			}
			batch = append(batch, *p.buf...)
		}
		if len(batch) >= outboxBatch {
			return batch, parcels
		}
		select {
		case p = <-o.queue:
		default:
			return batch, parcels
		}
	}
}

func (o *outbox) write(batch []byte, parcels []*parcel) error {
	if len(batch) == 0 {
		return nil
	}
	n, err := o.w.Write(batch)
	for _, p := range parcels {
		size := len(*p.buf)
		switch {
		case n >= size:
			p.state.Store(written)
		case n <= 0:
			p.state.Store(refused)
		}
		n -= size
		release(p.buf)
	}
	return err
}

// refuse marks what waits as never written.
func (o *outbox) refuse() {
	for {
		select {
		case p := <-o.queue:
			p.state.CompareAndSwap(waiting, refused)
		default:
			return
		}
	}
}
