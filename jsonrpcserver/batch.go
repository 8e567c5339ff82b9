package jsonrpcserver

import (
	"encoding/json"
	"sync"

	"github.com/cupule/cupule/registry"
)

// batch gathers the replies to one batch, in the order of its requests.
type batch struct {
	limit   int  // bytes of all results, and of errors that operations make
	oneLine bool // replies may hold no line ends

	mu      sync.Mutex // guards what follows
	pending int        // requests without reply, and one while the batch is being judged
	replies [][]byte
	output  int
	slots   int // held by its calls
	bytes   int
}

func newBatch(n, limit int, oneLine bool) *batch {
	return &batch{limit: limit, oneLine: oneLine, pending: 1, replies: make([][]byte, n)}
}

// expect says that a call was admitted and will finish.
func (b *batch) expect(size int) {
	b.mu.Lock()
	b.pending++
	b.slots++
	b.bytes += size
	b.mu.Unlock()
}

// finish takes the outcome of a call and reports whether it was the last.
func (b *batch) finish(index int, c *call, result json.RawMessage, failure *registry.Error) bool {
	if failure == nil && b.oneLine {
		result = oneLine(result)
	}
	b.replies[index] = b.reply(c, result, failure)
	return b.settle()
}

func (b *batch) reply(c *call, result json.RawMessage, failure *registry.Error) []byte {
	if failure != nil {
		text := appendError(nil, c.id, failure)
		if failure.Kind != registry.KindApplication || b.fits(len(text)) {
			return text
		}
		return appendError(nil, c.id, batchFull(c.method, b.limit))
	}
	if !b.fits(len(result)) {
		return appendError(nil, c.id, batchFull(c.method, b.limit))
	}
	return newResult(c.id, result)
}

// fits counts so many bytes of output, unless that would be too much.
func (b *batch) fits(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.output+n > b.limit {
		return false
	}
	b.output += n
	return true
}

// settle ends the judging of the batch, or one call, and reports whether that was the last.
func (b *batch) settle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pending--
	return b.pending == 0
}

// parts returns the reply to the batch in parts to be sent in order, and its size; none
// where no message of it is answered.
func (b *batch) parts() (parts [][]byte, size int) {
	separator := []byte("[")
	for _, reply := range b.replies {
		if reply != nil {
			parts = append(parts, separator, reply)
			size += 1 + len(reply)
			separator = []byte(",")
		}
	}
	if parts == nil {
		return nil, 0
	}
	return append(parts, []byte("]")), size + 1
}
