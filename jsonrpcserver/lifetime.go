package jsonrpcserver

import (
	"context"
	"sync"
	"time"
)

// lifetime is the context of one call on a stream. It costs nothing until something waits
// for its end, which a call to a fast operation never does. Values come from base.
type lifetime struct {
	base context.Context

	mu    sync.Mutex // guards what follows
	ended bool
	done  chan struct{}
	after []*func()
}

// Deadline returns none: the registry sets the call's.
func (l *lifetime) Deadline() (deadline time.Time, ok bool) { return }

// Value returns the value of the connection's context.
func (l *lifetime) Value(key any) any { return l.base.Value(key) }

// Err returns context.Canceled once the call is cancelled.
func (l *lifetime) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return context.Canceled
	}
	return nil
}

// Done returns a channel that is closed when the call is cancelled.
func (l *lifetime) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done == nil {
		l.done = make(chan struct{})
		if l.ended {
			close(l.done)
		}
	}
	return l.done
}

// AfterFunc lets contexts that are derived from this one do without a goroutine each.
func (l *lifetime) AfterFunc(f func()) (stop func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		go f()
		return func() bool { return false }
	}
	entry := &f
	l.after = append(l.after, entry)
	return func() bool { return l.forget(entry) }
}

func (l *lifetime) forget(entry *func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, other := range l.after {
		if other == entry {
			l.after = append(l.after[:i], l.after[i+1:]...)
			return true
		}
	}
	return false
}

// cancel ends the call; more than once does no harm.
func (l *lifetime) cancel() {
	l.mu.Lock()
	after := l.after
	if !l.ended && l.done != nil {
		close(l.done)
	}
	l.ended, l.after = true, nil
	l.mu.Unlock()
	for _, f := range after {
		go (*f)()
	}
}
