package jsonrpcserver

import (
	"encoding/json"

	"github.com/cupule/cupule/registry"
)

// flight is a call that runs on a stream. It is the call's context too.
type flight struct {
	call
	lifetime
	stream *stream
	batch  *batch
	index  int // in the batch
	size   int // bytes of the request, freed with the reply

	// The stream's mutex guards these.
	previous, next *flight
	done           bool

	alone bool // nothing else ran on the stream when it was admitted
}

// admit takes a slot for a call, or returns why there is none.
func (st *stream) admit(f *flight) *registry.Error {
	opts := &st.server.opts
	st.mu.Lock()
	defer st.mu.Unlock()
	switch {
	case st.drain || st.dead:
		return shuttingDown(f.method, registry.NotSent)
	case st.slots >= opts.MaxInFlight:
		return overloaded(f.method, "too many calls in flight on this connection")
	case st.bytes+f.size > opts.MaxInFlightBytes:
		return overloaded(f.method, "the requests in flight on this connection are too large together")
	case !st.server.admit():
		return overloaded(f.method, "too many calls in flight")
	}
	st.slots++
	st.bytes += f.size
	f.alone = st.running == nil
	if f.next = st.running; f.next != nil {
		f.next.previous = f
	}
	st.running = f
	return nil
}

// land takes the call off the list. The mutex is held.
func (st *stream) land(f *flight) {
	if f.done = true; f.previous != nil {
		f.previous.next = f.next
	} else {
		st.running = f.next
	}
	if f.next != nil {
		f.next.previous = f.previous
	}
	f.previous, f.next = nil, nil
}

// run runs an admitted call and sends its reply.
func (f *flight) run() {
	result, failure := f.invoke()
	f.finish(result, failure, false)
}

// finish puts the reply into the outbox, and writes if nobody does. The reader leaves
// writing for later, unless much has gathered.
func (f *flight) finish(result json.RawMessage, failure *registry.Error, reader bool) {
	st := f.stream
	last := f.batch != nil && f.batch.finish(f.index, &f.call, result, failure)
	var text []byte
	if failure != nil && f.id != nil && f.batch == nil {
		text = appendError(nil, f.id, failure)
	}
	defer st.server.live.Done()
	st.mu.Lock()
	st.land(f)
	switch {
	case last:
		st.sendBatch(f.batch)
	case f.batch != nil:
	case f.id == nil || st.dead:
		st.free(1, f.size)
	case failure != nil:
		st.out.message(text, 1, f.size)
	default:
		st.out.result(f.id, result, f.size)
	}
	flush := reader && (st.gathered() || 2*st.slots > st.server.opts.MaxInFlight)
	write := !reader && st.becomeWriter()
	st.settle()
	st.mu.Unlock()
	switch {
	case write:
		st.write()
	case flush:
		st.flush()
	}
}

// gathered reports whether the reader should send what waits. The first replies go early, so
// that the peer has something to do while the rest is run. The mutex is held.
func (st *stream) gathered() bool {
	switch {
	case len(st.out.queue) != 1:
		return len(st.out.queue) > 1
	case st.out.queue[0].slots < st.burst:
		return false
	}
	st.burst *= 2
	return true
}

// sendBatch puts the reply to a batch into the outbox. The mutex is held.
func (st *stream) sendBatch(b *batch) {
	parts, size := b.parts()
	if parts == nil || st.dead {
		st.free(b.slots, b.bytes)
		return
	}
	st.out.parts(parts, size, b.slots, b.bytes)
}

// report sends progress, unless the call is over or the peer is too slow for it.
func (f *flight) report(p registry.Progress) {
	text := progressMessage(f.token, p)
	st := f.stream
	st.mu.Lock()
	if text == nil || f.done || st.dead || !st.out.report(text) {
		st.server.stats.droppedProgress.Add(1)
	} else if st.becomeWriter() {
		go st.write()
	}
	st.mu.Unlock()
}
