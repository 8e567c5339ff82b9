package jsonrpcserver

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/cupule/cupule/registry"
)

// How long calls of an operation have taken lately for the reader to run one itself.
const (
	quickAlone  = 50 * time.Microsecond // nothing else has arrived
	quickQueued = 20 * time.Microsecond // others wait, which could run at the same time
	slowPace    = time.Millisecond      // of an operation that isn't known yet, or was slow

	// tick is how long a call that the reader runs may hold up reading, once or twice,
	// before another reader takes over. A timer that fires each millisecond costs a busy
	// connection a fifth of its time.
	tick = 10 * time.Millisecond

	firstBurst = 2 // replies of calls that the reader ran; the next bursts are larger
)

// errHandedOver says that another goroutine is the reader now.
var errHandedOver = errors.New("reading was handed over")

// pace is how long calls of one operation take, as a moving average in nanoseconds.
type pace struct{ average atomic.Int64 }

func newPace() *pace {
	p := &pace{}
	p.average.Store(int64(slowPace))
	return p
}

func (p *pace) add(took time.Duration) {
	old := p.average.Load()
	p.average.Store(old + (int64(min(took, slowPace))-old)/8)
}

// turns lets the reader run the calls of quick operations itself, which saves a switch of
// goroutines for each. While it does, a timer looks after it: when a call takes long after
// all, a new goroutine becomes the reader, and the old one is that call's.
type turns struct {
	now     atomic.Uint64 // odd while the reader runs a call
	seen    atomic.Uint64 // at the last tick
	watched atomic.Bool   // the timer runs
	timer   *time.Timer
}

// mayRun reports whether the reader should run an admitted call itself.
func (st *stream) mayRun(f *flight) bool {
	if f.pace == nil || !f.alone || f.batch != nil {
		return false
	}
	limit := quickAlone
	if st.frames.Buffered() > 0 {
		limit = quickQueued
	}
	return f.pace.average.Load() < int64(limit)
}

// runReady runs the call that take left to the reader. It returns false where another
// goroutine has become the reader meanwhile.
func (st *stream) runReady() bool {
	f := st.ready
	if f == nil {
		return true
	}
	st.ready = nil
	turn := st.turns.now.Add(1)
	st.watch()
	result, failure := f.invoke()
	reader := st.turns.now.CompareAndSwap(turn, turn+1)
	f.finish(result, failure, reader)
	return reader
}

func (st *stream) watch() {
	t := &st.turns
	if !t.watched.Load() && t.watched.CompareAndSwap(false, true) {
		t.timer.Reset(tick)
	}
}

// lookAfter hands reading over when the same call runs as at the last tick, and stops
// ticking when none has begun since.
func (st *stream) lookAfter() {
	t := &st.turns
	now := t.now.Load()
	switch {
	case t.seen.Swap(now) != now:
		t.timer.Reset(tick)
	case now&1 == 0:
		t.watched.Store(false)
		if t.now.Load() != now {
			st.watch()
		}
	default:
		t.watched.Store(false)
		if t.now.CompareAndSwap(now, now+1) {
			st.server.live.Add(1) // the call is live, so this can't meet a Wait at zero
			go func() {
				defer st.server.live.Done()
				st.read()
			}()
		}
	}
}

// flush sends what the reader has left in the outbox, as far as the peer takes it at once.
func (st *stream) flush() {
	st.mu.Lock()
	if !st.becomeWriter() {
		st.mu.Unlock()
		return
	}
	if st.raw == nil {
		st.mu.Unlock()
		st.leave(st.write)
		return
	}
	p := st.takePiece()
	st.mu.Unlock()
	n, err := st.raw.Write(p.data)
	if err != nil || n < len(p.data) {
		st.leave(func() { st.writeFrom(p, n) })
		return
	}
	st.doneWith(p)
	st.mu.Lock()
	more := len(st.out.queue) > 0 && !st.dead
	if !more {
		st.writes = false
		st.settle()
	}
	st.mu.Unlock()
	if more {
		st.leave(st.write)
	}
}

// leave has a goroutine write what may take time. Where too much is unread the reader waits,
// and so does that itself.
func (st *stream) leave(write func()) {
	st.mu.Lock()
	st.waits = st.out.crowded() && !st.evicted.Load()
	waits := st.waits
	st.mu.Unlock()
	if !waits {
		go write()
		return
	}
	write()
	st.mu.Lock()
	st.waits = false
	st.mu.Unlock()
}

// invoke runs the call and learns from how long it took.
func (f *flight) invoke() ([]byte, *registry.Error) {
	var progress func(registry.Progress)
	if f.token != nil && f.id != nil {
		progress = f.report
	}
	began := time.Now()
	result, failure := f.stream.server.invoke(f, &f.call, progress)
	if f.pace != nil {
		f.pace.add(time.Since(began))
	}
	f.backend.leave()
	if failure != nil && failure.Kind == registry.KindCancelled && f.stream.halting.Load() {
		failure = shuttingDown(f.method, failure.Ran)
	}
	return result, failure
}
