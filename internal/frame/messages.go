package frame

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Framing is how messages are told apart on a stream.
type Framing uint8

// The framings. A stream keeps the one that its first byte shows.
const (
	// Undecided: nothing but blanks has been read.
	Undecided Framing = iota
	// Newline: one message a line.
	Newline
	// ContentLength: a header with Content-Length before each message, as editors speak it.
	ContentLength
)

// BrokenError says that it isn't known where the next message begins.
type BrokenError struct{ Reason string }

// Error returns the reason.
func (e *BrokenError) Error() string { return "framing lost: " + e.Reason }

// Sizes of the buffer and bounds of what is skipped.
const (
	smallBuffer  = 4<<10 + 768 // holds a header, or a line of 4 KiB
	middleBuffer = 64 << 10
	maxHeader    = 4 << 10
	maxSkip      = 64 << 20
)

// ErrNoRoom says that there is no memory for a message of this size at the moment.
var ErrNoRoom = errors.New("no room for the message")

// Room is memory that readers share, for what exceeds their small buffers.
type Room interface {
	// Claim asks for so many bytes instead of what is held. It may wait where they are needed.
	Claim(size int, needed bool) bool
	// Release gives back what is held.
	Release()
	// Contended reports whether others wait for what this reader holds.
	Contended() bool
}

// Messages reads messages in either framing. It has a buffer of less than 5 KiB, one of
// 64 KiB for longer messages and while much arrives, and for still longer ones one that is
// as long as the message, or grows up to the limit where its length isn't known. Next may
// be called again after a read error that is temporary, such as a deadline. Not safe for
// concurrent use.
type Messages struct {
	r       io.Reader
	buf     []byte
	begin   int // of what is not yet returned
	end     int
	scanned int // bytes from begin on that hold no line end
	framing Framing
	length  int   // of the message whose header has been read, or -1
	skip    int64 // bytes of a message that was too long; -1 skips to the end of the line
	skipped int64 // bytes of that line
	full    bool  // the last read filled the buffer
	room    Room  // nil for no bounds
	held    int   // bytes of it
}

// NewMessages returns a reader of messages. Memory beyond its small buffer comes from room,
// if that is not nil.
func NewMessages(r io.Reader, room Room) *Messages { return &Messages{r: r, room: room, length: -1} }

// Close lets go of the buffer. Nothing may be read afterwards.
func (m *Messages) Close() { m.replace(0) }

// Framing returns the framing of the stream.
func (m *Messages) Framing() Framing { return m.framing }

// Partial reports whether a message has begun and not ended.
func (m *Messages) Partial() bool { return m.begin < m.end || m.length >= 0 || m.skip != 0 }

// Buffered returns the number of bytes that have been read and not returned.
func (m *Messages) Buffered() int { return m.end - m.begin }

// Next returns the next message, valid until the next call. A message of more than limit
// bytes is ErrTooLong, with the beginning of it in newline framing, and the next call skips
// the rest; ErrNoRoom is the same for a message that there is no memory for. A stream that
// ends within a message gives io.ErrUnexpectedEOF, with what there is of it in newline
// framing; a *BrokenError is final.
func (m *Messages) Next(limit int) ([]byte, error) {
	for {
		if err := m.discard(); err != nil {
			return nil, err
		}
		if data, done, err := m.cut(limit); done {
			return data, err
		}
		if err := m.fill(limit); err == ErrNoRoom {
			return m.giveUp(), err
		} else if err != nil {
			return m.atEnd(err)
		}
	}
}

// cut takes a message out of the buffer; done is false where more must be read first.
func (m *Messages) cut(limit int) (data []byte, done bool, err error) {
	if m.length < 0 && m.scanned == 0 {
		m.skipBlanks()
	}
	if m.begin == m.end && m.length < 0 {
		return nil, false, nil
	}
	if m.framing == Undecided {
		m.framing = Newline
		if m.buf[m.begin]|0x20 == 'c' {
			m.framing = ContentLength
		}
	}
	if m.framing == Newline {
		return m.cutLine(limit)
	}
	if m.length < 0 {
		if done, err := m.cutHeader(limit); err != nil || !done {
			return nil, done, err
		}
	}
	if m.end-m.begin < m.length {
		return nil, false, nil
	}
	data = m.take(m.length)
	m.length = -1
	return data, true, nil
}

func (m *Messages) take(n int) []byte {
	data := m.buf[m.begin : m.begin+n]
	m.begin += n
	m.scanned = 0
	return data
}

// skipBlanks skips blanks between messages. Between messages with headers there are none.
func (m *Messages) skipBlanks() {
	for m.framing != ContentLength && m.begin < m.end {
		switch m.buf[m.begin] {
		case ' ', '\t', '\r', '\n':
			m.begin++
		default:
			return
		}
	}
}

func (m *Messages) cutLine(limit int) (data []byte, done bool, err error) {
	i := bytes.IndexByte(m.buf[m.begin+m.scanned:m.end], '\n')
	if i >= 0 {
		n := m.scanned + i
		line := m.take(n + 1)[:n]
		if n > limit {
			err = ErrTooLong
		}
		return line, true, err
	}
	if m.scanned = m.end - m.begin; m.scanned > limit {
		m.skip, m.skipped = -1, 0
		return m.buf[m.begin:m.end], true, ErrTooLong
	}
	return nil, false, nil
}

// cutHeader reads a whole header; done with an error is ErrTooLong or a *BrokenError.
func (m *Messages) cutHeader(limit int) (done bool, err error) {
	i := bytes.Index(m.buf[m.begin:m.end], []byte("\r\n\r\n"))
	if i > maxHeader || i < 0 && m.end-m.begin > maxHeader {
		return true, &BrokenError{fmt.Sprintf("a header is larger than %d bytes", maxHeader)}
	}
	if i < 0 && bareLineEnd(m.buf[m.begin:m.end]) {
		return true, &BrokenError{"header lines must end in CRLF"}
	}
	if i < 0 {
		return false, nil
	}
	length, err := parseHeader(string(m.take(i + 4)[:i]))
	if err != nil {
		return true, err
	}
	if length > int64(limit) {
		if length > maxSkip {
			return true, &BrokenError{fmt.Sprintf("a message of %d bytes is announced", length)}
		}
		m.skip = length
		return true, ErrTooLong
	}
	m.length = int(length)
	return true, nil
}

// bareLineEnd reports whether a header holds a line feed that no carriage return precedes:
// it would be waited for in vain.
func bareLineEnd(header []byte) bool {
	for i := bytes.IndexByte(header, '\n'); i >= 0; {
		if i == 0 || header[i-1] != '\r' {
			return true
		}
		next := bytes.IndexByte(header[i+1:], '\n')
		if next < 0 {
			return false
		}
		i += 1 + next
	}
	return false
}

// parseHeader returns the length that a header announces.
func parseHeader(header string) (int64, error) {
	length, typed := int64(-1), false
	for line := range strings.SplitSeq(header, "\r\n") {
		name, value, ok := strings.Cut(line, ":")
		if strings.ContainsRune(line, '\n') {
			return 0, &BrokenError{"header lines must end in CRLF"}
		}
		if !ok || name == "" || strings.ContainsAny(name, " \t") || strings.ContainsFunc(value, isControl) || strings.ContainsFunc(name, isControl) {
			return 0, &BrokenError{"a header line is no \"Name: value\""}
		}
		value = strings.Trim(value, " \t")
		switch strings.ToLower(name) {
		case "content-length":
			n, err := strconv.ParseUint(value, 10, 62)
			if err != nil || length >= 0 || strings.Trim(value, "0123456789") != "" {
				return 0, &BrokenError{"Content-Length is due once, as a number of bytes"}
			}
			length = int64(n)
		case "content-type":
			if typed || !isUTF8(value) {
				return 0, &BrokenError{"Content-Type may stand once, and its charset is utf-8"}
			}
			typed = true
		}
	}
	if length < 0 {
		return 0, &BrokenError{"a header lacks Content-Length"}
	}
	return length, nil
}

// isControl reports whether another reader may end a line, or a text, at the character.
func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// isUTF8 reports whether a content type names no other charset than utf-8.
func isUTF8(contentType string) bool {
	for part := range strings.SplitSeq(contentType, ";") {
		name, value, _ := strings.Cut(part, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "charset") {
			continue
		}
		switch strings.ToLower(strings.Trim(strings.TrimSpace(value), `"`)) {
		case "utf-8", "utf8":
		default:
			return false
		}
	}
	return true
}

// discard skips the rest of a message that was too long.
func (m *Messages) discard() error {
	for m.skip != 0 {
		if m.begin == m.end {
			if err := m.fill(0); err != nil {
				return err
			}
		}
		if m.skip > 0 {
			n := min(m.skip, int64(m.end-m.begin))
			m.take(int(n))
			m.skip -= n
			continue
		}
		if err := m.skipLine(); err != nil {
			return err
		}
	}
	return nil
}

func (m *Messages) skipLine() error {
	n := bytes.IndexByte(m.buf[m.begin:m.end], '\n') + 1
	if n > 0 {
		m.skip = 0
	} else {
		n = m.end - m.begin
	}
	m.take(n)
	if m.skipped += int64(n); m.skipped > maxSkip {
		return &BrokenError{fmt.Sprintf("a line is longer than %d bytes", maxSkip)}
	}
	return nil
}

// atEnd says what an error of the stream means for the message that has begun.
func (m *Messages) atEnd(err error) ([]byte, error) {
	if err != io.EOF || !m.Partial() {
		return nil, err
	}
	var rest []byte
	if m.framing == Newline && m.skip == 0 {
		rest = m.take(m.end - m.begin)
	}
	m.begin, m.end, m.length, m.skip, m.scanned = 0, 0, -1, 0, 0
	return rest, io.ErrUnexpectedEOF
}
