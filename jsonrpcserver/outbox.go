package jsonrpcserver

import (
	"encoding/json"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/cupule/cupule/internal/frame"
	"github.com/cupule/cupule/registry"
)

// outbox holds what waits to be written to one peer, in order. Small messages gather in
// one piece, which is one write; large results are pieces of their own and not copied.
// The stream's mutex guards it.
type outbox struct {
	framing  frame.Framing
	queue    []piece
	buffers  *sync.Pool // of *[]byte, the server's
	size     int        // bytes in queue
	progress int        // of those, bytes of progress
	surplus  int        // of those, bytes that answer no call with a slot, until they are written

	unread *atomic.Int64 // the server's sum of surplus
}

// piece is bytes to write, and what is freed just before that.
type piece struct {
	data     []byte
	own      *[]byte // where data came from; more may be appended then
	slots    int
	bytes    int // of requests
	progress int
	surplus  int
}

// tail returns the piece that small messages are appended to.
func (o *outbox) tail() *piece {
	if n := len(o.queue); n > 0 && o.queue[n-1].own != nil && len(o.queue[n-1].data) < writePiece/4 {
		return &o.queue[n-1]
	}
	own := o.buffers.Get().(*[]byte)
	o.queue = append(o.queue, piece{own: own, data: (*own)[:0]})
	return &o.queue[len(o.queue)-1]
}

// result appends a reply with a result. A slot and the bytes of its request are freed
// when its last piece is taken.
func (o *outbox) result(id []byte, result json.RawMessage, requestBytes int) {
	if o.framing != frame.ContentLength {
		result = oneLine(result)
	}
	size := len(replyStart) + len(id) + len(replyResult) + len(result) + len(replyEnd)
	o.size += size
	t := o.tail()
	t.data = o.header(t.data, size)
	t.data = append(append(append(t.data, replyStart...), id...), replyResult...)
	if len(result) < largePiece {
		t.data = append(t.data, result...)
	} else {
		o.queue = append(o.queue, piece{data: result})
		t = o.tail()
	}
	t.data = o.trailer(append(t.data, replyEnd...))
	t.slots++
	t.bytes += requestBytes
}

// message appends any other message. Where it answers no call that holds a slot, slots is zero.
func (o *outbox) message(text []byte, slots, requestBytes int) {
	o.size += len(text)
	t := o.tail()
	t.data = o.header(t.data, len(text))
	t.data = o.trailer(append(t.data, text...))
	t.slots += slots
	t.bytes += requestBytes
	if slots == 0 {
		t.surplus += len(text)
		o.owe(len(text))
	}
}

// parts appends a message that comes in parts.
func (o *outbox) parts(parts [][]byte, size, slots, requestBytes int) {
	o.size += size
	t := o.tail()
	t.data = o.header(t.data, size)
	for _, part := range parts {
		if len(part) < largePiece {
			t = o.tail()
			t.data = append(t.data, part...)
		} else {
			o.queue = append(o.queue, piece{data: part})
		}
	}
	t = o.tail()
	t.data = o.trailer(t.data)
	t.slots += slots
	t.bytes += requestBytes
}

// report appends a progress notification, or returns false where too many wait already.
func (o *outbox) report(text []byte) bool {
	if o.progress+len(text) > maxProgress {
		return false
	}
	o.message(text, 0, 0)
	o.queue[len(o.queue)-1].progress += len(text)
	o.progress += len(text)
	return true
}

func (o *outbox) header(dst []byte, n int) []byte {
	if o.framing != frame.ContentLength {
		return dst
	}
	dst = append(dst, "Content-Length: "...)
	dst = strconv.AppendInt(dst, int64(n), 10)
	return append(dst, "\r\n\r\n"...)
}

func (o *outbox) trailer(dst []byte) []byte {
	if o.framing != frame.ContentLength {
		return append(dst, '\n')
	}
	return dst
}

// take removes the first piece.
func (o *outbox) take() piece {
	p := o.queue[0]
	n := copy(o.queue, o.queue[1:])
	o.queue[n] = piece{}
	o.queue = o.queue[:n]
	if n == 0 {
		o.size = 0 // headers and line ends weren't counted
	} else {
		o.size -= min(o.size, len(p.data))
	}
	if n == 0 && cap(o.queue) > 64 {
		o.queue = nil
	}
	o.progress -= p.progress
	return p
}

// owe counts so many more bytes of surplus, or fewer, and the writer who may have to wait
// with them.
func (o *outbox) owe(n int) {
	change := n
	if o.surplus == 0 {
		change += writerCost
	}
	if o.surplus += n; o.surplus == 0 {
		change -= writerCost
	}
	o.unread.Add(int64(change))
}

// settle counts the surplus of a piece as read.
func (o *outbox) settle(p piece) { o.owe(-p.surplus) }

// crowded reports whether reading must wait for the peer: too much waits for it, or it
// waits for more than its share while too much waits for all peers together.
func (o *outbox) crowded() bool {
	return o.size > maxUnread || o.surplus > ownSurplus && o.unread.Load() > maxSurplus
}

// discard empties the outbox and returns the slots that it held.
func (o *outbox) discard() (slots int) {
	for _, p := range o.queue {
		slots += p.slots
	}
	o.owe(-o.surplus)
	o.queue, o.size, o.progress = nil, 0, 0
	return slots
}

// giveBack lets others use a written piece's memory.
func (o *outbox) giveBack(p piece) {
	if p.own != nil && cap(p.data) <= writePiece/2 {
		*p.own = p.data
		o.buffers.Put(p.own)
	}
}

func progressMessage(token []byte, p registry.Progress) []byte {
	value, err := json.Marshal(p)
	if err != nil || len(value) > maxProgress/4 {
		return nil
	}
	dst := append([]byte(`{"jsonrpc":"2.0","method":"`+methodProgress+`","params":{"token":`), token...)
	return append(append(append(dst, `,"value":`...), value...), "}}"...)
}
