package jsonrpcserver

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cupule/cupule/internal/frame"
	"github.com/cupule/cupule/internal/rawio"
	"github.com/cupule/cupule/registry"
)

// pipe is what a stream runs on: a net.Conn, or the two ends of stdio.
type pipe interface {
	io.ReadWriteCloser
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// stream is one connection that carries messages in either framing.
//
// Its reader takes requests apart, judges them and starts a goroutine for each call that
// finds a slot. What is to be sent goes into the outbox. Whoever puts something into an
// outbox that nobody writes from becomes its writer until it is empty. The reader leaves
// its own replies there until it would wait. Where the peer doesn't take them it starts a
// writer, and waits itself only when too much is unread.
type stream struct {
	server *Server
	conn   pipe
	ctx    context.Context // for its values
	peer   string
	timing timing

	// Used by the reader alone.
	who      identity
	frames   *frame.Messages
	deadline time.Time // for reading, that is set; zero for none
	began    time.Time // when the message that is being read was first seen; zero for none
	heard    time.Time // when the last message had been read
	opened   time.Time
	taken    int     // messages so far
	counted  int     // of those, when it was heard
	ready    *flight // that the reader is to run itself
	burst    int     // how many replies gather before they are sent
	raw      *rawio.Writer
	framing  frame.Framing
	room     streamRoom

	evicted atomic.Bool // the reader must give up what it holds of the room
	halting atomic.Bool // calls are being cancelled because the server stops

	turns turns

	written time.Time // when the write deadline was set last; used by the writer alone

	mu      sync.Mutex // guards what follows
	out     outbox
	running *flight   // the first of a list
	slots   int       // calls whose replies the writer hasn't taken
	bytes   int       // of their requests
	rested  time.Time // when the last of them ended
	ended   bool      // the reader is done
	drain   bool      // no new calls
	writes  bool      // someone is the writer
	waits   bool      // the reader is, and waits for the peer
	dead    bool      // closed
	linger  bool      // the peer may still be sending
	stalled bool      // the peer took nothing for too long
	unread  sync.Cond // signals that there is less of it
	closed  chan struct{}
}

// timing says which deadlines a stream has for reading.
type timing uint8

const (
	untimed timing = iota
	timedMessages
	timedFully // idleness too
)

func (s *Server) newStream(ctx context.Context, conn pipe, who identity, peer string, timing timing) *stream {
	now := time.Now()
	st := &stream{
		server: s, conn: conn, ctx: ctx, who: who, peer: peer, timing: timing, opened: now, heard: now,
		closed: make(chan struct{}), out: outbox{buffers: &s.buffers, unread: &s.unread},
	}
	st.unread.L = &st.mu
	st.room.stream, st.room.server, st.room.evict = st, s, st.evict
	st.frames = frame.NewMessages(readerFunc(st.readMore), &st.room)
	st.raw = newRawWriter(conn)
	st.turns.timer = time.AfterFunc(time.Hour, st.lookAfter)
	st.turns.timer.Stop()
	return st
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// run reads until the peer ends its requests, waits until everything is answered, and closes.
func (st *stream) run() {
	st.read()
	<-st.closed
	st.finishReading()
}

// read is the reader, until another takes over or there is nothing more to read.
func (st *stream) read() {
	lost, err := st.readAll()
	if errors.Is(err, errHandedOver) {
		return
	}
	st.frames.Close()
	st.mu.Lock()
	st.ended, st.linger = true, lost && !st.dead
	write := st.becomeWriter()
	st.settle()
	st.mu.Unlock()
	if err != nil {
		st.abort()
	}
	if write {
		st.write()
	}
}

// settle closes the connection when nothing is left to do. The mutex is held.
func (st *stream) settle() {
	if (st.ended || st.drain) && st.slots == 0 && len(st.out.queue) == 0 && !st.writes {
		st.close()
	}
}

// close ends the connection, or leaves that to the reader, which lingers. The mutex is held.
func (st *stream) close() {
	if st.dead {
		return
	}
	st.dead = true
	st.free(st.out.discard(), 0)
	st.unread.Broadcast()
	close(st.closed)
	if !st.linger {
		_ = st.conn.Close()
	}
}

// finishReading lets a peer that is still sending read the last reply, where there is one.
func (st *stream) finishReading() {
	st.mu.Lock()
	lingers := st.linger
	st.mu.Unlock()
	if !lingers {
		return
	}
	linger(st.conn)
	_ = st.conn.Close()
}

// linger ends what this side sends and reads on for a moment: closing a socket with unread
// bytes would reset it, and the last words could be lost.
func linger(conn pipe) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_ = conn.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, conn, maxLinger)
	}
}

// abort cancels what runs and closes at once: the peer is gone, or can't be written to.
func (st *stream) abort() {
	st.hangUp()
	st.mu.Lock()
	st.close()
	st.mu.Unlock()
	st.cancel(func(*flight) bool { return true })
}

// hangUp ends reading and writing. The connection is closed again when nothing needs it.
func (st *stream) hangUp() {
	if secure, ok := st.conn.(interface{ NetConn() net.Conn }); ok {
		_ = secure.NetConn().Close() // or closing would wait for a farewell to be taken
		return
	}
	_ = st.conn.Close()
}

// cancel ends the running calls that match.
func (st *stream) cancel(match func(*flight) bool) {
	var list []*flight
	st.mu.Lock()
	for f := st.running; f != nil; f = f.next {
		if match(f) {
			list = append(list, f)
		}
	}
	st.mu.Unlock()
	for _, f := range list {
		f.lifetime.cancel()
	}
}

// stop lets no new calls begin, and closes when what runs is answered.
func (st *stream) stop() {
	st.mu.Lock()
	st.drain = true
	st.settle()
	st.mu.Unlock()
}

// send puts a message of the reader's into the outbox that answers no call with a slot.
func (st *stream) send(text []byte) {
	st.mu.Lock()
	st.out.message(text, 0, 0)
	st.mu.Unlock()
}

func (st *stream) refuse(id []byte, err *registry.Error) { st.send(appendError(nil, id, err)) }

// becomeWriter reports whether the caller must write. The mutex is held.
func (st *stream) becomeWriter() bool {
	if st.writes || st.dead || len(st.out.queue) == 0 {
		return false
	}
	st.writes = true
	return true
}

// write is the writer: it writes until the outbox is empty.
func (st *stream) write() {
	for {
		st.mu.Lock()
		if st.dead || len(st.out.queue) == 0 {
			st.writes = false
			st.settle()
			st.mu.Unlock()
			return
		}
		p := st.takePiece()
		st.mu.Unlock()
		if !st.writePiece(p, 0) {
			return
		}
	}
}

// writeFrom is the writer too, and begins within a piece.
func (st *stream) writeFrom(p piece, n int) {
	if st.writePiece(p, n) {
		st.write()
	}
}

func (st *stream) writePiece(p piece, n int) bool {
	if err := st.writeAll(p.data[n:]); err != nil {
		st.abort()
		return false
	}
	st.doneWith(p)
	return true
}

// doneWith gives back a piece that is written.
func (st *stream) doneWith(p piece) {
	if p.surplus > 0 {
		st.mu.Lock()
		if !st.dead {
			st.out.settle(p)
			st.unread.Signal()
		}
		st.mu.Unlock()
	}
	st.out.giveBack(p)
}

// takePiece takes a piece out of the outbox and frees what it holds. The mutex is held.
func (st *stream) takePiece() piece {
	p := st.out.take()
	st.free(p.slots, p.bytes)
	st.unread.Signal()
	return p
}

// free gives slots back, and the bytes of their requests. The mutex is held.
func (st *stream) free(slots, bytes int) {
	st.slots -= slots
	if st.timing == timedFully && slots > 0 && st.slots == 0 {
		st.rested = time.Now()
	}
	st.bytes -= bytes
	st.server.calls.Add(-int64(slots))
}

// writeAll writes in parts, each of which the peer must take within the write deadline.
func (st *stream) writeAll(data []byte) error {
	for len(data) > 0 {
		n, err := st.writePart(data[:min(len(data), writePiece)])
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// writePart moves the deadline once a second at most, to that much later than is due. A
// pipe without deadlines has a timer for each part.
func (st *stream) writePart(data []byte) (int, error) {
	limit := st.server.opts.WriteTimeout
	slack := min(time.Second, limit)
	if now := time.Now(); now.Sub(st.written) >= slack {
		st.written = now
		if err := st.conn.SetWriteDeadline(now.Add(limit + slack)); isNoDeadline(err) {
			st.written = time.Time{}
			defer time.AfterFunc(limit, func() { st.stall(); st.abort() }).Stop()
		}
	}
	n, err := st.conn.Write(data)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		st.stall()
	}
	return n, err
}

// stall notes that the peer has left a reply unread for too long.
func (st *stream) stall() {
	st.mu.Lock()
	st.stalled = true
	st.mu.Unlock()
}
