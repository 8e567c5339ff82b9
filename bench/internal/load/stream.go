// Package load is the one client that every server is measured with. It knows no more of
// JSON than it must: frames are encoded before the clock starts, a reply is matched by its
// id, and is compared byte for byte with one that was decoded and verified before.
//
// All callers share one connection of a stream, each with one call in flight, written
// with one write of its own. Over HTTP each caller has a connection.
package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/cupule/cupule/bench/internal/echo"
	"github.com/cupule/cupule/bench/internal/measure"
)

// Patience is how long a load may take before its connection is closed.
const Patience = time.Minute

// Framing says where a message ends.
type Framing int

// The framings.
const (
	Newline Framing = iota
	ContentLength
)

// frame wraps a message.
func (f Framing) frame(message []byte) []byte {
	if f == ContentLength {
		return append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(message)), message...)
	}
	return append(message, '\n')
}

// Stream is one connection that callers share.
type Stream struct {
	conn    io.ReadWriteCloser
	framing Framing
	callers []caller
	verify  echo.Verify

	writing sync.Mutex
	ended   chan struct{} // closed when nothing is read any more
	failure error         // why; set before ended is closed
}

type caller struct {
	frame []byte
	reply chan error
	known []byte // the last reply that was verified
}

// NewStream makes callers, which have the ids from 1, on a connection. The connection is
// closed by Close.
func NewStream(conn io.ReadWriteCloser, framing Framing, callers int, request echo.Request, verify echo.Verify) *Stream {
	s := &Stream{conn: conn, framing: framing, verify: verify, callers: make([]caller, callers), ended: make(chan struct{})}
	for i := range s.callers {
		s.callers[i] = caller{frame: framing.frame(request(i + 1)), reply: make(chan error, 1)}
	}
	go s.read()
	return s
}

// Run makes the calls of a load.
func (s *Stream) Run(load measure.Load) (time.Duration, error) {
	guard := time.AfterFunc(Patience, func() { _ = s.conn.Close() })
	took, err := measure.Calls(load, s.call)
	if !guard.Stop() && err != nil {
		err = ErrSilent
	}
	return took, err
}

// ErrSilent says why a load ended that was waited for in vain.
var ErrSilent = fmt.Errorf("no answer within %v", Patience)

// errEnded says that the other side has ended the connection, or itself.
var errEnded = errors.New("the other side has ended")

func (s *Stream) call(i int) error {
	c := &s.callers[i]
	s.writing.Lock()
	_, err := s.conn.Write(c.frame)
	s.writing.Unlock()
	if err != nil {
		return explained(err)
	}
	select {
	case err = <-c.reply:
		return err
	case <-s.ended:
		return s.failure
	}
}

// explained says what the end of a connection means.
func explained(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("%w: %w", errEnded, err)
	}
	return err
}

// Close ends the connection and waits for its reader.
func (s *Stream) Close() error {
	err := s.conn.Close()
	<-s.ended
	return err
}

// read hands replies to their callers.
func (s *Stream) read() {
	defer close(s.ended)
	in := reader{bufio.NewReaderSize(s.conn, 64<<10), nil}
	for {
		reply, err := in.next(s.framing)
		if err != nil {
			s.failure = explained(err)
			return
		}
		id := idOf(reply)
		if id < 1 || id > len(s.callers) {
			s.failure = fmt.Errorf("a reply to nobody: %.200q", reply)
			return
		}
		if !s.callers[id-1].take(reply, s.verify) {
			s.failure = fmt.Errorf("a second reply to one call: %.200q", reply)
			return
		}
	}
}

// take hands over a reply, unless one lies there already.
func (c *caller) take(reply []byte, verify echo.Verify) bool {
	var err error
	if !bytes.Equal(reply, c.known) {
		if err = verify(reply); err == nil {
			c.known = bytes.Clone(reply)
		}
	}
	select {
	case c.reply <- err:
		return true
	default:
		return false
	}
}

// idOf returns the id of a reply, or zero. A quote inside a string is escaped, so that no
// text can be taken for the key.
func idOf(reply []byte) int {
	key := []byte(`"id":`)
	at := bytes.Index(reply, key)
	if at < 0 {
		return 0
	}
	digits := bytes.TrimLeft(reply[at+len(key):], " ")
	end := bytes.IndexAny(digits, ",} ")
	if end < 0 {
		return 0
	}
	id, err := strconv.Atoi(string(digits[:end]))
	if err != nil {
		return 0
	}
	return id
}
