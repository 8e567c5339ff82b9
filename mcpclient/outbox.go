package mcpclient

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/cupule/cupule/internal/rawio"
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

// outbox writes frames to a peer that may stop reading at any time. A caller writes a small
// frame itself if nothing waits before it and the pipe takes it at once. Everything else goes
// to a goroutine, so that no caller waits for the peer longer than it wants to; frames that
// wait together are written together.
type outbox struct {
	w       io.WriteCloser
	raw     *rawio.Writer // nil where writing always may wait
	writing sync.Mutex    // held by whoever writes
	behind  atomic.Int32  // frames that the goroutine has to write

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

// atomicWrite returns how much the system puts into a pipe whole or not at all: PIPE_BUF.
func atomicWrite() int {
	if runtime.GOOS == "linux" {
		return 4096
	}
	return 512 // POSIX promises as much
}

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
	if f, ok := w.(*os.File); ok {
		o.raw = rawio.New(f)
	}
	go o.run()
	return o
}

// put writes a frame, or queues it and waits for room while ctx lasts.
func (o *outbox) put(ctx context.Context, p *parcel) error {
	if o.closing() {
		return errOutboxClosed
	}
	if o.writeNow(p) {
		return nil
	}
	o.behind.Add(1)
	select {
	case o.queue <- p:
		return nil
	case <-o.done:
		return errOutboxClosed
	case <-o.stop:
		return errOutboxClosed
	case <-ctx.Done():
		o.behind.Add(-1)
		return context.Cause(ctx)
	}
}

// writeNow writes a frame from the caller's goroutine, or nothing of it.
func (o *outbox) writeNow(p *parcel) bool {
	if o.raw == nil || len(*p.buf) > atomicWrite() || o.behind.Load() > 0 || !o.writing.TryLock() {
		return false
	}
	defer o.writing.Unlock()
	if !p.state.CompareAndSwap(waiting, taken) {
		return false
	}
	if n, _ := o.raw.Write(*p.buf); n < len(*p.buf) {
		p.state.Store(waiting) // the goroutine meets the error again
		return false
	}
	p.state.Store(written)
	release(p.buf)
	return true
}

func (o *outbox) closing() bool {
	select {
	case <-o.stop:
		return true
	case <-o.done:
		return true
	default:
		return false
	}
}

// offer queues a frame if there is room.
func (o *outbox) offer(buf []byte) bool {
	if o.closing() {
		return false
	}
	o.behind.Add(1)
	select {
	case o.queue <- &parcel{buf: &buf}:
		return true
	default:
		o.behind.Add(-1)
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
		if !p.state.CompareAndSwap(waiting, taken) {
			o.behind.Add(-1)
		} else {
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
	o.writing.Lock()
	n, err := o.w.Write(batch)
	o.writing.Unlock()
	o.behind.Add(-int32(len(parcels)))
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
