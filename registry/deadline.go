package registry

import (
	"context"
	"sync"
	"time"
)

// deadline is the context of a call. It costs no timer until something waits for its
// end, which a handler that is quick never does.
type deadline struct {
	context.Context // the caller's

	at    time.Time
	cause *Error

	mu    sync.Mutex // guards what follows
	armed context.Context
	stop  context.CancelFunc
	over  bool
}

// Deadline returns the earlier of this deadline and the caller's.
func (d *deadline) Deadline() (time.Time, bool) {
	if at, ok := d.Context.Deadline(); ok && at.Before(d.at) {
		return at, true
	}
	return d.at, true
}

// Done returns a channel that is closed at the deadline, or when the call is over or cancelled.
func (d *deadline) Done() <-chan struct{} { return d.arm().Done() }

// Err returns why the call has ended, or nil.
func (d *deadline) Err() error {
	d.mu.Lock()
	waits := d.armed != nil || d.over
	d.mu.Unlock()
	if !waits && time.Now().Before(d.at) {
		return d.Context.Err()
	}
	return d.arm().Err()
}

// Value returns a value of the caller's context. By the same way package context finds
// the cause of the end.
func (d *deadline) Value(key any) any { return d.arm().Value(key) }

// arm makes the context that waits.
func (d *deadline) arm() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.armed == nil {
		d.armed, d.stop = context.WithDeadlineCause(d.Context, d.at, d.cause)
		if d.over {
			d.stop()
		}
	}
	return d.armed
}

// end says that the call is over.
func (d *deadline) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
	if d.stop != nil {
		d.stop()
	}
}
