package jsonrpcserver

import (
	"github.com/cupule/cupule/internal/strictjson"
	"github.com/cupule/cupule/registry"
)

// text is what one frame or one HTTP body holds: one message, or a batch.
type text struct {
	one   envelope
	many  []envelope
	sizes []int // of the messages of a batch, in bytes
	batch bool
}

// scan takes a text apart and judges it as a whole: nothing of it runs if any byte of
// it is wrong.
func (t *text) scan(data []byte, maxBatch int) *registry.Error {
	at := strictjson.Space(data, 0)
	var end int
	var syntax *strictjson.SyntaxError
	if at < len(data) && data[at] == '[' {
		t.batch = true
		end, syntax = t.scanBatch(data, at, maxBatch)
	} else {
		t.one, end, syntax = scanEnvelope(data, at, MaxDepth)
	}
	if syntax == nil {
		if end = strictjson.Space(data, end); end < len(data) {
			syntax = &strictjson.SyntaxError{Offset: end, Reason: "something follows the JSON text"}
		}
	}
	switch {
	case syntax != nil:
		return parseError(syntax)
	case t.batch && len(t.many) == 0:
		return invalidRequest("a batch holds at least one message")
	case len(t.many) > maxBatch:
		return batchTooLong(maxBatch)
	}
	return nil
}

// scanBatch takes the messages of a batch apart. Past one more than maxBatch it only
// checks the rest.
func (t *text) scanBatch(data []byte, at, maxBatch int) (int, *strictjson.SyntaxError) {
	i := strictjson.Space(data, at+1)
	if i < len(data) && data[i] == ']' {
		return i + 1, nil
	}
	for {
		begin := i
		var e envelope
		var err *strictjson.SyntaxError
		if len(t.many) > maxBatch {
			i, err = strictjson.Value(data, i, MaxDepth-1)
		} else if e, i, err = scanEnvelope(data, i, MaxDepth-1); err == nil {
			t.many, t.sizes = append(t.many, e), append(t.sizes, i-begin)
		}
		if err != nil {
			return i, err
		}
		if i = strictjson.Space(data, i); i < len(data) && data[i] == ']' {
			return i + 1, nil
		}
		if i >= len(data) || data[i] != ',' {
			return i, &strictjson.SyntaxError{Offset: i, Reason: "a comma or a closing bracket is missing"}
		}
		i = strictjson.Space(data, i+1)
	}
}
