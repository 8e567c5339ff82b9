package jsonrpcserver

import (
	"bytes"
	"errors"
	"io"
	"os"
	"time"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/internal/frame"
	"github.com/cupule/cupule/internal/strictjson"
	"github.com/cupule/cupule/registry"
)

// readAll reads and judges messages until the peer ends its requests. Lost says that it
// may still be sending; an error says that it is gone.
func (st *stream) readAll() (lost bool, err error) {
	for {
		if !st.waitForPeer() {
			st.refuse(nil, crowded())
			return true, nil
		}
		data, err := st.next()
		switch {
		case err == nil:
			if !st.take(data) {
				return true, nil
			}
			if !st.runReady() {
				return false, errHandedOver
			}
		case errors.Is(err, frame.ErrTooLong):
			if !st.skip(data, tooLong(st.limit())) {
				return true, nil
			}
		case errors.Is(err, frame.ErrNoRoom):
			if !st.skip(data, crowded()) {
				return true, nil
			}
		case isBroken(err):
			st.refuse(nil, parseError(err))
			return true, nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			st.takeRest(data)
			return false, nil
		case errors.Is(err, io.EOF):
			return false, nil
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return false, err
		case st.evicted.Load():
			if beginning, gaveUp := st.frames.Yield(); gaveUp && !st.skip(beginning, crowded()) {
				return true, nil
			}
		case !st.mayWait():
			return true, nil
		}
	}
}

func isBroken(err error) bool {
	_, broken := errors.AsType[*frame.BrokenError](err)
	return broken
}

// limit returns how many bytes the next message may have: few until it is known who speaks.
func (st *stream) limit() int {
	if st.who.name == "" {
		return min(maxGreeting, st.server.opts.MaxMessage)
	}
	return st.server.opts.MaxMessage
}

// next reads a message, and learns the framing from the first.
func (st *stream) next() ([]byte, error) {
	data, err := st.frames.Next(st.limit())
	if f := st.frames.Framing(); f != st.framing {
		st.framing = f
		st.mu.Lock()
		st.out.framing = f
		st.mu.Unlock()
	}
	return data, err
}

// take judges one message; false says that the connection must end.
func (st *stream) take(data []byte) bool {
	if st.taken++; st.taken == 1 && st.framing == frame.Newline && isHTTP(data) {
		st.refuse(nil, invalidRequest("this is no HTTP server"))
		return false
	}
	st.began = time.Time{}
	st.judge(data)
	return st.who.failures < maxAttempts
}

// skip refuses a message whose rest isn't read. False says that the connection must end:
// what begins like an HTTP request may be one, whose lines must not be read.
func (st *stream) skip(beginning []byte, why *registry.Error) bool {
	st.taken++
	st.began = time.Time{}
	st.refuse(nil, why)
	return st.taken > 1 || st.framing != frame.Newline || !beginsLikeHTTP(beginning)
}

// takeRest judges what stands behind the last line end, or refuses half a message.
func (st *stream) takeRest(data []byte) {
	if data == nil {
		st.refuse(nil, parseError(errors.New("the message ends early")))
		return
	}
	st.take(data)
	if f := st.ready; f != nil {
		st.ready = nil
		f.start()
	}
}

// isHTTP reports whether the first line is that of an HTTP request. A browser can be made
// to send one to any port, with lines of its sender's choice behind it.
func isHTTP(line []byte) bool {
	return beginsLikeHTTP(line) && bytes.Contains(line, []byte(" HTTP/"))
}

func beginsLikeHTTP(line []byte) bool { return len(line) > 0 && 'A' <= line[0] && line[0] <= 'Z' }

// waitForPeer waits while the peer leaves too much unread. False says that others need the
// memory meanwhile that it holds.
func (st *stream) waitForPeer() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	for st.out.crowded() && !st.dead {
		if st.evicted.Load() {
			return false
		}
		if !st.becomeWriter() {
			st.unread.Wait()
			continue
		}
		st.mu.Unlock()
		st.leave(st.write)
		st.mu.Lock()
	}
	return true
}

// readMore reads from the connection, with the deadline that is due. First it sends what
// is ready, since reading may wait.
func (st *stream) readMore(p []byte) (int, error) {
	st.flush()
	st.burst = firstBurst
	if st.timing != untimed {
		st.arm(time.Now())
	}
	if st.evicted.Load() {
		return 0, os.ErrDeadlineExceeded
	}
	n, err := st.conn.Read(p)
	st.room.came(n)
	return n, err
}

// arm sets the read deadline that is due: of a message that has begun, of an idle
// connection, or of one whose peer isn't known. An earlier one that is set already is left
// and judged when it has passed, so that deadlines cost little.
func (st *stream) arm(now time.Time) {
	if !st.frames.Partial() {
		st.began = time.Time{}
	} else if st.began.IsZero() {
		st.began = now
	}
	if st.taken != st.counted {
		st.counted, st.heard = st.taken, now
	}
	due, late := st.due()
	if !late && !due.IsZero() {
		due = now.Add(st.server.opts.IdleTimeout)
	}
	if !due.IsZero() && (st.deadline.IsZero() || due.Before(st.deadline)) {
		st.setDeadline(due)
	}
}

// due returns by when the peer must have sent something, zero for no such time, and
// whether it is late in sending a message or a token.
func (st *stream) due() (deadline time.Time, late bool) {
	opts := &st.server.opts
	switch {
	case st.timing == untimed:
		return time.Time{}, false
	case st.who.name == "":
		return st.opened.Add(opts.GreetTimeout), true
	case !st.began.IsZero():
		return st.began.Add(opts.MessageTimeout), true
	case st.timing == timedFully:
		return st.heard.Add(opts.IdleTimeout), false
	}
	return time.Time{}, false
}

func (st *stream) setDeadline(deadline time.Time) {
	st.deadline = deadline
	_ = st.conn.SetReadDeadline(deadline)
}

// mayWait says whether to go on after the read deadline: an idle connection may while a
// call runs, and for the idle time after the last.
func (st *stream) mayWait() bool {
	now := time.Now()
	due, late := st.due()
	if late && !now.Before(due) {
		st.refuse(nil, tooSlow())
		return false
	}
	if !late && !due.IsZero() {
		due = st.restsUntil(now, due)
	}
	st.setDeadline(due)
	return due.IsZero() || now.Before(due)
}

// restsUntil returns when an idle connection has been so for too long: calls that run or
// ended meanwhile put that off.
func (st *stream) restsUntil(now, due time.Time) time.Time {
	st.mu.Lock()
	defer st.mu.Unlock()
	rested := st.rested
	if st.slots > 0 {
		rested = now
	}
	if until := rested.Add(st.server.opts.IdleTimeout); until.After(due) {
		return until
	}
	return due
}

// judge takes one text apart and starts what it asks for.
func (st *stream) judge(data []byte) {
	var t text
	if err := t.scan(data, st.server.opts.MaxBatch); err != nil {
		st.refuse(nil, err)
		return
	}
	b := st.server.acquire()
	defer b.leave()
	if !t.batch {
		st.handle(&received{envelope: t.one, backend: b, size: len(data)})
		return
	}
	gathered := newBatch(len(t.many), st.server.opts.MaxBatchOutput, st.framing != frame.ContentLength)
	for i := range t.many {
		st.handle(&received{envelope: t.many[i], backend: b, size: t.sizes[i], batch: gathered, index: i})
	}
	if gathered.settle() {
		st.mu.Lock()
		st.sendBatch(gathered)
		st.settle()
		st.mu.Unlock()
	}
}

// received is one message to judge.
type received struct {
	envelope
	backend *backend
	size    int    // in bytes
	batch   *batch // that it is part of; nil for none
	index   int    // in the batch
}

// handle judges one message and starts the call that it is.
func (st *stream) handle(m *received) {
	switch {
	case m.isResponse():
	case m.fault != "":
		st.answer(m, nil, invalidRequest(m.fault))
	case string(m.method) == methodAuthenticate:
		result, err := st.authenticate(m)
		st.answer(m, result, err)
	default:
		var err *registry.Error
		if inv, ok := st.who.on(m.backend); ok {
			err = st.launch(m, inv)
		} else {
			err = unauthenticated(`authenticate first: rpc.authenticate {"token": "..."}`)
		}
		if err != nil && m.id == nil {
			st.server.stats.droppedNotifications.Add(1)
		} else if err != nil {
			st.answer(m, nil, err)
		}
	}
}

// answer replies to a message that holds no slot. An ill-formed message is answered
// though it has no id; other messages without id are notifications.
func (st *stream) answer(m *received, result []byte, err *registry.Error) {
	var text []byte
	switch {
	case err != nil && (m.id != nil || m.fault != ""):
		text = appendError(nil, m.id, err)
	case err == nil && m.id != nil:
		text = appendResult(nil, m.id, result)
	default:
		return
	}
	if m.batch != nil {
		m.batch.replies[m.index] = text
		return
	}
	st.send(text)
}

// authenticate judges rpc.authenticate. As a notification or inside a batch it does nothing.
func (st *stream) authenticate(m *received) ([]byte, *registry.Error) {
	if m.id == nil || m.batch != nil {
		return nil, invalidRequest("rpc.authenticate is a request of its own")
	}
	result, err := st.who.authenticate(m.backend, m.params)
	if err != nil {
		st.server.failedToAuthenticate(st.who.origin, st.peer, err.Message)
		return nil, err
	}
	st.server.opts.Logger.Info("authenticated", "origin", st.who.origin, "peer", st.peer, "caller", st.who.name)
	return result, nil
}

// launch starts a call, or returns why it can't.
func (st *stream) launch(m *received, inv effects.Invocation) *registry.Error {
	st.who.served = true
	switch {
	case string(m.method) == methodCancel:
		id, err := cancelledID(m.params)
		if err == nil {
			st.cancel(func(f *flight) bool { return f.id != nil && sameID(f.id, id) })
			st.answer(m, []byte("null"), nil)
		}
		return err
	case m.id == nil && bytes.HasPrefix(m.method, []byte("$/")):
		return nil
	}
	f := &flight{stream: st, size: m.size}
	f.takeCopy(&m.envelope, m.backend)
	f.lifetime.base, f.inv, f.peer = st.ctx, inv, st.peer
	if f.id != nil {
		f.batch, f.index = m.batch, m.index
	}
	if err := st.admit(f); err != nil {
		return err
	}
	if f.batch != nil {
		f.batch.expect(f.size)
	}
	m.backend.enter()
	if st.mayRun(f) {
		st.ready = f
	} else {
		f.start()
	}
	return nil
}

// cancelledID returns the id that the parameters of $/cancelRequest name.
func cancelledID(params []byte) (id []byte, err *registry.Error) {
	twice := false
	for m := range strictjson.Members(params) {
		if string(m.Key) == "id" {
			twice = id != nil
			id = m.Value
		}
		if twice {
			break
		}
	}
	if id == nil || twice || !isID(id) {
		return nil, &registry.Error{
			Kind: registry.KindInvalidParams, Operation: methodCancel, Message: `invalid parameters: write {"id": ...}`,
			Problems: []registry.ParamProblem{{Path: "/id", Message: "the id of a request, once"}},
		}
	}
	return id, nil
}
