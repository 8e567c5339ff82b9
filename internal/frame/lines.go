// Package frame reads bounded frames from a peer that may be broken or hostile.
package frame

import (
	"bufio"
	"errors"
	"io"
)

// ErrTooLong says that a line is longer than its limit. The rest of the line is still
// unread: pass it to Discard, or give up the stream.
var ErrTooLong = errors.New("line too long")

// Lines reads newline-delimited frames. It holds at most one line up to its limit, and
// keeps no large buffer between lines. Not safe for concurrent use.
type Lines struct {
	in  *bufio.Reader
	big []byte
}

// keep is the largest assembly buffer that is kept from one line to the next.
const keep = 64 << 10

// NewLines returns a reader of lines with a read buffer of size bytes.
func NewLines(r io.Reader, size int) *Lines { return &Lines{in: bufio.NewReaderSize(r, size)} }

// Buffered returns the underlying reader, for peeking between lines.
func (l *Lines) Buffered() *bufio.Reader { return l.in }

// Next returns the next line without its newline, valid until the next call. With a line
// of more than limit bytes it returns what it has read of it, at most limit bytes and one
// buffer, and ErrTooLong. At the end of input it returns an unfinished line with
// io.ErrUnexpectedEOF, or io.EOF where there is none.
func (l *Lines) Next(limit int) ([]byte, error) {
	if cap(l.big) > keep {
		l.big = nil
	}
	line, err := l.in.ReadSlice('\n')
	if err == nil && len(line)-1 <= limit {
		return line[:len(line)-1], nil
	}
	l.big = append(l.big[:0], line...)
	for errors.Is(err, bufio.ErrBufferFull) && len(l.big) <= limit {
		line, err = l.in.ReadSlice('\n')
		l.big = append(l.big, line...)
	}
	return l.finish(limit, err)
}

func (l *Lines) finish(limit int, err error) ([]byte, error) {
	switch {
	case err == nil && len(l.big)-1 <= limit:
		return l.big[:len(l.big)-1], nil
	case err == nil:
		// The newline is consumed already; give it back as the end of the line to discard.
		_ = l.in.UnreadByte()
		return l.big[:len(l.big)-1], ErrTooLong
	case errors.Is(err, bufio.ErrBufferFull) || len(l.big) > limit:
		return l.big, ErrTooLong
	case errors.Is(err, io.EOF) && len(l.big) > 0:
		return l.big, io.ErrUnexpectedEOF
	default:
		return nil, err
	}
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
