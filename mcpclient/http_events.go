package mcpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/cupule/cupule/internal/frame"
	"github.com/cupule/cupule/registry"
)

// events reads server-sent events of bounded size.
type events struct {
	in    *frame.Lines
	mark  *bookmark // takes ids and retry times; nil where the stream is not resumed
	limit int       // of the data of one event
	data  []byte
	owned bool // the data is the caller's to keep
	name  string
}

func newEvents(r io.Reader, limit int) *events {
	return &events{in: frame.NewLines(&lineEnds{r: r}, readBuffer), limit: limit}
}

var errEventTooLong = errors.New("event too long")

// next returns the data of the next message event, valid until the next call.
func (e *events) next() ([]byte, error) {
	e.reset()
	for first := true; ; first = false {
		line, owned, err := e.in.NextOwned(e.limit)
		if errors.Is(err, frame.ErrTooLong) {
			if len(e.data) == 0 {
				return fieldValue(line), errEventTooLong
			}
			return e.data, errEventTooLong
		}
		if err != nil {
			return nil, err
		}
		if first {
			line = trimBOM(line)
		}
		done, err := e.line(line, owned)
		if done || err != nil {
			return e.data, err
		}
	}
}

// reset forgets an event, and its memory where that was given away.
func (e *events) reset() {
	if e.owned {
		e.data, e.owned = nil, false
	}
	e.data, e.name = e.data[:0], ""
}

// line takes one line, and reports whether it completes a message event.
func (e *events) line(line []byte, owned bool) (done bool, err error) {
	if len(line) == 0 {
		e.mark.turn()
		done = len(e.data) > 0 && (e.name == "" || e.name == "message")
		if !done {
			e.reset()
		}
		return done, nil
	}
	field, _, _ := bytes.Cut(line, []byte(":"))
	switch string(field) {
	case "event":
		e.name = string(fieldValue(line)[:min(len(fieldValue(line)), 64)])
	case "data":
		e.add(fieldValue(line), owned)
		if len(e.data) > e.limit {
			return false, errEventTooLong
		}
	case "id":
		e.mark.name(fieldValue(line))
	case "retry":
		e.mark.pause(fieldValue(line))
	}
	return false, nil
}

// add takes the data of one line. A long line is kept as it is, without another copy.
func (e *events) add(data []byte, owned bool) {
	if len(e.data) == 0 && owned {
		e.data, e.owned = data[:len(data):len(data)], true
		return
	}
	if len(e.data) > 0 {
		e.data = append(e.data, '\n')
	}
	e.data = append(e.data, data...)
}

// fieldValue returns what stands behind the colon of a line, without one blank.
func fieldValue(line []byte) []byte {
	_, v, _ := bytes.Cut(line, []byte(":"))
	return bytes.TrimPrefix(v, []byte(" "))
}

// readEvents reads a stream up to the answer.
func (x *exchange) readEvents(body io.ReadCloser) (json.RawMessage, error) {
	e := newEvents(body, x.request.limit+FrameOverhead)
	e.in.Bound(largeList, x.claim)
	e.mark = x.mark
	for {
		data, err := e.next()
		if errors.Is(err, errEventTooLong) {
			if err = x.oversized(e, data); err == nil {
				continue
			}
			return nil, err
		}
		if err != nil {
			cause := masked{x.peer.mask, err}
			return nil, because(failure(registry.KindOutcomeUnknown, registry.Sent, "the server's stream ended without an answer"), cause)
		}
		if m := x.sort(data); m != nil {
			result, err := settle(m, x.pending(), x.peer.mask)
			if !e.owned {
				result = bytes.Clone(result)
			}
			finishStream(body)
			return result, err
		}
	}
}

// sort returns the answer from a message, or from an array of them as older protocols allow. It
// takes the rest aside.
func (x *exchange) sort(data []byte) (answer *message) {
	for part := range messages(data) {
		if m := parse(part); answer == nil && x.answers(&m) {
			answer = &m
		} else {
			x.aside(&m, part)
		}
	}
	return answer
}

// streamGrace is how long a stream may take to end behind the answer.
const streamGrace = 5 * time.Millisecond

// finishStream reads to the end of a stream that has no more to say, so that its connection
// can be used again. One that is left open is closed.
func finishStream(body io.ReadCloser) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.CopyN(io.Discard, body, 4<<10)
	}()
	timer := time.NewTimer(streamGrace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
	_ = body.Close()
	<-done
}

// oversized judges an event that is too long to be kept: another message is passed over,
// and what is or may be the answer fails the call.
func (x *exchange) oversized(e *events, data []byte) error {
	var s skimmer
	s.Write(data)
	if s.method && e.in.Discard(MaxDiscard, nil) == nil {
		x.peer.notes.drop()
		return nil
	}
	return x.tooLarge()
}

// aside takes a message that is not the answer.
func (x *exchange) aside(m *message, data []byte) {
	p := x.peer
	method, named := text(m.method)
	switch {
	case m.problem != "" || !named:
		p.stray.add(p.mask, data)
	case m.id != nil:
		if !p.agreed.Load().modern && len(m.id) <= 256 {
			p.later(p.agreed.Load().appendReply(nil, m.id, method))
		}
	case len(m.params) > FrameOverhead:
		p.notes.drop()
	default:
		if token, report, ok := progressOf(m.params); ok && method == "notifications/progress" && x.request.progress != nil {
			if id, own := ownID(token); own && id == x.id {
				x.request.progress(report)
			}
		}
		p.notes.deliver(method, m.params)
	}
}
