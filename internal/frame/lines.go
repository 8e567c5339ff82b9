// Package frame reads bounded frames from a peer that may be broken or hostile.
package frame

import (
	"bufio"
	"errors"
	"io"
	"sync"
)

// ErrTooLong says that a line is longer than its limit. The rest of the line is still
// unread: pass it to Discard, or give up the stream.
var ErrTooLong = errors.New("line too long")

// Lines reads newline-delimited frames. It holds at most one line up to its limit, and
// keeps no large buffer between lines. Not safe for concurrent use.
type Lines struct {
	in     *bufio.Reader
	pieces [][]byte // of a line that is longer than the read buffer
	large  int
	claim  func() (atOnce bool, err error)
}

// pieceSize is the size of the pieces in which a long line is gathered.
const pieceSize = 64 << 10

// maxSpares bounds how many pieces of one line are kept for the next ones.
const maxSpares = 64

// spares are pieces that no line needs at the moment.
var spares = sync.Pool{New: func() any { return new([pieceSize]byte) }}

// NewLines returns a reader of lines with a read buffer of size bytes.
func NewLines(r io.Reader, size int) *Lines { return &Lines{in: bufio.NewReaderSize(r, size)} }

// Bound has claim called for each line of more than large bytes, which may wait. Where it says
// so, the memory for a line up to its limit is taken at once, and never more than that. After
// its error the line counts as too long.
func (l *Lines) Bound(large int, claim func() (atOnce bool, err error)) {
	l.large, l.claim = large, claim
}

// Buffered returns the underlying reader, for peeking between lines.
func (l *Lines) Buffered() *bufio.Reader { return l.in }

// Next returns the next line without its newline, valid until the next call. With a line
// of more than limit bytes it returns what it has read of it, at most limit bytes and one
// buffer, and ErrTooLong. At the end of input it returns an unfinished line with
// io.ErrUnexpectedEOF, or io.EOF where there is none.
func (l *Lines) Next(limit int) ([]byte, error) {
	line, _, err := l.NextOwned(limit)
	return line, err
}

// NextOwned is Next, and says whether the line is the caller's to keep: lines longer than
// the read buffer are.
func (l *Lines) NextOwned(limit int) (line []byte, owned bool, err error) {
	line, err = l.in.ReadSlice('\n')
	switch {
	case err == nil && len(line)-1 <= limit:
		return line[:len(line)-1], false, nil
	case err == nil:
		// The newline is consumed already; give it back as the end of the line to discard.
		_ = l.in.UnreadByte()
		return line[:len(line)-1], false, ErrTooLong
	case errors.Is(err, bufio.ErrBufferFull) && len(line) > limit:
		return line, false, ErrTooLong
	case errors.Is(err, bufio.ErrBufferFull):
		return l.gather(line, limit)
	case errors.Is(err, io.EOF) && len(line) > 0:
		return line, false, io.ErrUnexpectedEOF
	default:
		return nil, false, err
	}
}

// gather reads a line that is longer than the read buffer. The pieces are joined once, so
// that a line of n bytes costs about 2n bytes of memory, and none is kept.
func (l *Lines) gather(line []byte, limit int) ([]byte, bool, error) {
	n, err := len(line), error(nil)
	l.add(line)
	claim := l.claim
	for err = bufio.ErrBufferFull; errors.Is(err, bufio.ErrBufferFull) && n <= limit; {
		if claim != nil && n > l.large {
			atOnce, refused := claim()
			if claim = nil; refused != nil {
				return l.join(n, n), true, ErrTooLong
			}
			if atOnce {
				return l.fill(l.join(n, limit+l.in.Size()), limit)
			}
		}
		line, err = l.in.ReadSlice('\n')
		n += len(line)
		l.add(line)
	}
	return l.judge(l.join(n, n), limit, err)
}

// fill reads the rest of a line into memory that is large enough for any.
func (l *Lines) fill(whole []byte, limit int) ([]byte, bool, error) {
	err := bufio.ErrBufferFull
	for errors.Is(err, bufio.ErrBufferFull) && len(whole) <= limit {
		var line []byte
		line, err = l.in.ReadSlice('\n')
		whole = append(whole, line...)
	}
	return l.judge(whole, limit, err)
}

// judge returns a line as it was read, up to err.
func (l *Lines) judge(whole []byte, limit int, err error) ([]byte, bool, error) {
	n := len(whole)
	switch {
	case err == nil && n-1 <= limit:
		return whole[:n-1], true, nil
	case err == nil:
		_ = l.in.UnreadByte()
		return whole[:n-1], true, ErrTooLong
	case errors.Is(err, bufio.ErrBufferFull) || n > limit:
		return whole, true, ErrTooLong
	case errors.Is(err, io.EOF):
		return whole, true, io.ErrUnexpectedEOF
	default:
		return nil, false, err
	}
}

// add copies a part of the line behind the pieces.
func (l *Lines) add(part []byte) {
	for len(part) > 0 {
		last := len(l.pieces) - 1
		if last < 0 || len(l.pieces[last]) == cap(l.pieces[last]) {
			l.pieces = append(l.pieces, spares.Get().(*[pieceSize]byte)[:0])
			continue
		}
		piece := l.pieces[last]
		n := min(len(part), cap(piece)-len(piece))
		l.pieces[last] = append(piece, part[:n]...)
		part = part[n:]
	}
}

// join returns the n bytes in the pieces, with room for size.
func (l *Lines) join(n, size int) []byte {
	whole := make([]byte, 0, max(n, size))
	for i, piece := range l.pieces {
		whole = append(whole, piece...)
		if i < maxSpares {
			spares.Put((*[pieceSize]byte)(piece[:pieceSize]))
		}
	}
	clear(l.pieces)
	l.pieces = l.pieces[:0]
	return whole
}

// Discard reads to the end of the line that was too long, passing each piece to visit if
// that is not nil. Past max bytes it stops with ErrTooLong, and the stream is lost.
func (l *Lines) Discard(max int64, visit func(piece []byte)) error {
	for n := int64(0); ; {
		piece, err := l.in.ReadSlice('\n')
		n += int64(len(piece))
		if n > max {
			return ErrTooLong
		}
		if visit != nil {
			visit(piece)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}
