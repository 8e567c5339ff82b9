package jsonrpcserver

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// What messages that are being read take together, beyond the few KiB that each
// connection has for them. Those of up to 64 KiB have a budget of their own, so that
// larger ones can't hold them up.
const (
	middleMessage = 64 << 10
	middleBudget  = 1 << 20
	largeBudget   = 4 * (1<<20 + 1) // or one message, where they may be larger
)

// How long a message may wait for memory. Of those that have some, one must go meanwhile
// that brings nothing for half a second, or less than 64 KiB in a second.
const (
	claimWait = 2 * time.Second
	stall     = 500 * time.Millisecond
	patience  = time.Second
	slowest   = 64 << 10
)

// budget is memory in bytes that is given to messages in the order in which they ask.
type budget struct {
	contended atomic.Bool // some wait

	mu    sync.Mutex // guards what follows, and the evictions
	free  int
	queue []*hold
	holds []*hold
}

// hold is what one message has of a budget.
type hold struct {
	size    int
	evict   func() // ends the reading; called once at most, and not after the hold was given back
	came    atomic.Int64
	given   chan struct{}
	since   time.Time // when it was given, or its pace judged last; zero while it waits
	had     int64     // bytes that had come then
	moved   time.Time // when more had come than before
	seen    int64     // bytes that had come then
	evicted bool
}

func newBudgets(maxMessage int) (middle, large *budget) {
	return &budget{free: middleBudget}, &budget{free: max(largeBudget, maxMessage+1)}
}

// try takes what is free, unless others wait for it.
func (b *budget) try(h *hold) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) > 0 || b.free < h.size {
		return false
	}
	b.give(h, time.Now())
	return true
}

func (b *budget) give(h *hold, now time.Time) {
	b.free -= h.size
	h.since, h.moved = now, now
	b.holds = append(b.holds, h)
}

// claim waits for what h asks for, and evicts those that are too slow. It returns false
// when that takes too long, or quit is closed.
func (b *budget) claim(h *hold, quit <-chan struct{}) bool {
	if b.try(h) {
		return true
	}
	h.given = make(chan struct{})
	b.mu.Lock()
	b.queue = append(b.queue, h)
	b.serve(time.Now())
	b.mu.Unlock()
	over, look := time.NewTimer(claimWait), time.NewTimer(b.evictSlow(time.Now()))
	defer over.Stop()
	defer look.Stop()
	for {
		select {
		case <-h.given:
			return true
		case <-look.C:
			look.Reset(b.evictSlow(time.Now()))
		case <-over.C:
			return b.abandon(h)
		case <-quit:
			return b.abandon(h)
		}
	}
}

// abandon stops waiting, and reports whether that was too late.
func (b *budget) abandon(h *hold) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.queue, h); i >= 0 {
		b.queue = slices.Delete(b.queue, i, i+1)
		b.serve(time.Now())
	}
	return !h.since.IsZero()
}

// release gives back what h has, and reports whether it was to be evicted.
func (b *budget) release(h *hold) (evicted bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.holds, h)
	b.holds = slices.Delete(b.holds, i, i+1)
	b.free += h.size
	b.serve(time.Now())
	return h.evicted
}

// serve gives the first in the queue what has become free. The mutex is held.
func (b *budget) serve(now time.Time) {
	for len(b.queue) > 0 && b.free >= b.queue[0].size {
		h := b.queue[0]
		b.queue = slices.Delete(b.queue, 0, 1)
		b.give(h, now)
		close(h.given)
	}
	b.contended.Store(len(b.queue) > 0)
}

// evictSlow evicts who is too slow, and returns when to look again.
func (b *budget) evictSlow(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := stall
	for _, h := range b.holds {
		if h.evicted {
			continue
		}
		more := h.judge(now)
		if next = min(next, max(more, time.Millisecond)); more <= 0 {
			h.evicted = true
			h.evict()
		}
	}
	return next
}

// judge returns how long this message may go on before it is judged again: no time where
// it is too slow.
func (h *hold) judge(now time.Time) time.Duration {
	came := h.came.Load()
	if came != h.seen {
		h.moved, h.seen = now, came
	}
	more := stall - now.Sub(h.moved)
	if since := now.Sub(h.since); since < patience {
		return min(more, patience-since)
	} else if float64(came-h.had) < slowest*since.Seconds() {
		return 0
	}
	h.since, h.had = now, came
	return more
}
