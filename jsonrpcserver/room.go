package jsonrpcserver

import "time"

// room is what one reader holds of the server's budgets, for messages that are longer than
// what it has of its own. The reader alone uses it.
type room struct {
	server *Server
	evict  func() // called by others
	hold   *hold  // nil for none
	of     *budget

	evicted bool // from something that has been given back
}

// try takes so much instead of what is held, if it is free.
func (r *room) try(size int) bool { return r.ask(size, (*budget).try) }

// claim takes so much instead of what is held, and waits for it.
func (r *room) claim(size int, quit <-chan struct{}) bool {
	return r.ask(size, func(of *budget, h *hold) bool { return of.claim(h, quit) })
}

func (r *room) ask(size int, how func(*budget, *hold) bool) bool {
	of := r.server.middle
	if size > middleMessage {
		of = r.server.large
	}
	h := &hold{size: size, evict: r.evict}
	if !how(of, h) {
		return false
	}
	r.release()
	r.hold, r.of = h, of
	return true
}

// release gives back what is held.
func (r *room) release() {
	if r.hold != nil && r.of.release(r.hold) {
		r.evicted = true
	}
	r.hold = nil
}

// came counts what was read.
func (r *room) came(n int) {
	if r.hold != nil {
		r.hold.came.Add(int64(n))
	}
}

// streamRoom is the room of a stream's reader.
type streamRoom struct {
	room
	stream *stream
}

// Claim takes so much instead of what is held.
func (r *streamRoom) Claim(size int, needed bool) bool {
	if r.try(size) {
		r.settle()
		return true
	}
	if !needed {
		return false
	}
	r.stream.flush() // what is ready need not wait
	defer r.settle()
	return r.claim(size, r.stream.closed)
}

// Release gives back what is held.
func (r *streamRoom) Release() {
	r.release()
	r.settle()
}

// settle forgets that the reader was to give up what it has given back.
func (r *streamRoom) settle() {
	if r.evicted {
		r.evicted = false
		r.stream.evicted.Store(false)
		r.stream.setDeadline(time.Time{})
	}
}

// Contended reports whether others wait for what is held.
func (r *streamRoom) Contended() bool { return r.hold != nil && r.of.contended.Load() }

// evict wakes the reader, so that it gives up what it holds. Where it waits for a peer that
// leaves too much unread, the connection ends.
func (st *stream) evict() {
	st.mu.Lock()
	st.evicted.Store(true)
	st.unread.Broadcast()
	waits := st.waits
	st.mu.Unlock()
	if waits {
		st.hangUp()
	}
	_ = st.conn.SetReadDeadline(time.Unix(1, 0))
}
