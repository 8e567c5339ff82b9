package frame

import "io"

// fill reads more, into a buffer that has room for it. While others wait for memory it
// reads little at a time, so that what is behind the end of a message fits elsewhere.
func (m *Messages) fill(limit int) error {
	if err := m.makeRoom(limit); err != nil {
		return err
	}
	free := m.buf[m.end:]
	if m.held > 0 && len(free) > smallBuffer && m.room.Contended() {
		free = free[:smallBuffer]
	}
	for range 100 {
		n, err := m.r.Read(free)
		m.end += n
		m.full = m.end == len(m.buf)
		if n > 0 || err != nil {
			if n > 0 {
				err = nil // it comes again with the next read
			}
			return err
		}
	}
	return io.ErrNoProgress
}

// makeRoom moves what is left to the front of a buffer that is as large as need be.
func (m *Messages) makeRoom(limit int) error {
	size, claim := m.needed(limit)
	switch {
	case size > smallBuffer && size != len(m.buf):
		if !m.claim(claim, true) {
			return ErrNoRoom
		}
	case size > smallBuffer:
	case m.full && len(m.buf) <= middleBuffer && m.skip == 0 && m.claim(middleBuffer, false):
		size = middleBuffer
	}
	m.replace(size)
	return nil
}

// needed returns the size of the buffer that reading on takes, and how much to claim for
// it: a line may become as long as the limit.
func (m *Messages) needed(limit int) (size, claim int) {
	left := m.end - m.begin
	switch {
	case m.length > middleBuffer:
		return m.length, m.length
	case left < smallBuffer && m.length <= smallBuffer:
		return smallBuffer, 0
	case left < middleBuffer && (len(m.buf) <= middleBuffer || m.claim(middleBuffer, false)):
		return middleBuffer, middleBuffer
	case left < len(m.buf):
		return len(m.buf), m.held
	}
	return min(32*left, max(limit, left)+1), limit + 1
}

// claim asks for room unless that much is held already.
func (m *Messages) claim(size int, needed bool) bool {
	if m.held == size || m.room == nil {
		return true
	}
	if !m.room.Claim(size, needed) {
		return false
	}
	m.held = size
	return true
}

// replace puts a buffer of this size in place, with what has been read and not returned,
// and gives room back that it doesn't need.
func (m *Messages) replace(size int) {
	old, left := m.buf, m.buf[m.begin:m.end]
	if size != len(old) {
		m.buf = newBuffer(size)
	}
	m.begin, m.end, m.full = 0, copy(m.buf, left), false
	if size != len(old) {
		dropBuffer(old)
	}
	if size <= smallBuffer && m.held > 0 {
		m.held = 0
		m.room.Release()
	}
}

func newBuffer(size int) []byte {
	switch {
	case size == 0:
		return nil
	case size == middleBuffer:
		return spares.Get().(*[pieceSize]byte)[:]
	case size > middleBuffer:
		return Large(size)
	}
	return make([]byte, size)
}

func dropBuffer(b []byte) {
	switch {
	case len(b) == middleBuffer:
		spares.Put((*[pieceSize]byte)(b))
	case len(b) > middleBuffer:
		GiveBack(b)
	}
}

// Yield gives room back. Where a message has begun that needs it, that is given up as with
// ErrNoRoom: its beginning is returned, and the next call of Next skips the rest.
func (m *Messages) Yield() (beginning []byte, gaveUp bool) {
	if m.end-m.begin <= smallBuffer && m.length <= smallBuffer {
		if m.held > 0 {
			m.replace(smallBuffer)
		}
		return nil, false
	}
	return m.giveUp(), true
}

// giveUp has the rest of the message that has begun skipped, and returns its beginning in
// newline framing.
func (m *Messages) giveUp() (beginning []byte) {
	left := m.end - m.begin
	m.skip, m.skipped = -1, int64(left)
	if m.length >= 0 {
		m.skip = int64(m.length - left)
	}
	m.end = m.begin + min(left, smallBuffer)
	m.replace(smallBuffer)
	if m.length < 0 {
		beginning = m.buf[:m.end]
	}
	m.begin, m.end, m.length, m.scanned = 0, 0, -1, 0
	return beginning
}
