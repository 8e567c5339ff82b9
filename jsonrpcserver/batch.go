package jsonrpcserver

import (
	"encoding/json"
	"sync"

	"github.com/cupule/cupule/registry"
)

// batch gathers the replies to one batch, in the order of its requests.
type batch struct {
	limit   int  // bytes of all results
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
	b.mu.Lock()
	if failure == nil && b.output+len(result) > b.limit {
		failure = batchFull(c.method, b.limit)
	}
	if failure == nil {
		b.output += len(result)
	}
	b.mu.Unlock()
	var reply []byte
	if failure != nil {
		reply = appendError(nil, c.id, failure)
	} else {
		size := len(replyStart) + len(c.id) + len(replyResult) + len(result) + len(replyEnd)
		reply = appendResult(make([]byte, 0, size), c.id, result)
	}
	b.replies[index] = reply
	return b.settle()
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
