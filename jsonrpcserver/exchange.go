package jsonrpcserver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
)

// exchange is one POST and its answer. Servers keep them for the next.
type exchange struct {
	web     *web
	w       http.ResponseWriter
	r       *http.Request
	backend *backend
	inv     effects.Invocation
	account *account
	held    int64 // bytes that the body may take
	slots   atomic.Int64
	events  *events
	text    text
	single  call // where it is no batch
}

// body reads the body within its limits.
func (x *exchange) body() (data []byte, status int, err *registry.Error) {
	opts := &x.web.server.opts
	if len(x.r.TransferEncoding) > 0 || x.r.ContentLength == 0 && x.r.ProtoMajor == 1 {
		x.w.Header().Set("Connection", "close") // others may go by a length that stood beside it, or was hidden
	}
	if len(x.r.Header["Content-Length"]) > 1 { // over HTTP/2, where package http takes the first
		return nil, http.StatusBadRequest, invalidRequest("Content-Length must stand there once")
	}
	if x.r.ContentLength > int64(opts.MaxMessage) {
		return nil, http.StatusRequestEntityTooLarge, tooLong(opts.MaxMessage)
	}
	x.held = x.r.ContentLength
	if x.held < 0 {
		x.held = int64(opts.MaxMessage)
	}
	if x.account.bytes.Add(x.held) > int64(opts.MaxInFlightBytes) {
		return nil, http.StatusOK, overloaded("", "the requests in flight on this connection are too large together")
	}
	return x.read()
}

// read reads the body, as long as it comes in time and there is memory for it.
func (x *exchange) read() (data []byte, status int, err *registry.Error) {
	if !x.web.own {
		x.limitRead(time.Now().Add(x.web.server.opts.MessageTimeout))
	}
	var failed error
	if n := x.r.ContentLength; 0 <= n && n <= ownBody {
		data = make([]byte, n)
		_, failed = io.ReadFull(x.r.Body, data)
	} else {
		data, failed = x.readWithin()
	}
	if failed != nil {
		status, err = x.unread(failed)
		return nil, status, err
	}
	x.limitRead(time.Time{})
	return data, 0, nil
}

// limitRead sets the deadline for what is read.
func (x *exchange) limitRead(t time.Time) { _ = http.NewResponseController(x.w).SetReadDeadline(t) }

// readWithin reads the body into memory that it has claimed.
func (x *exchange) readWithin() ([]byte, error) {
	limit := x.web.server.opts.MaxMessage
	control := http.NewResponseController(x.w)
	r := &room{server: x.web.server, evict: func() { _ = control.SetReadDeadline(time.Unix(1, 0)) }}
	body := http.MaxBytesReader(x.w, x.r.Body, int64(limit))
	data, err := readBody(body, int(x.r.ContentLength), limit, r, x.r.Context().Done())
	r.release()
	if r.evicted {
		err = errCrowded
	}
	return data, err
}

// unread says why the body could not be read.
func (x *exchange) unread(failed error) (status int, err *registry.Error) {
	_, large := errors.AsType[*http.MaxBytesError](failed)
	switch {
	case large:
		return http.StatusRequestEntityTooLarge, tooLong(x.web.server.opts.MaxMessage)
	case failed == errCrowded:
		x.w.Header().Set("Retry-After", "1")
		return http.StatusServiceUnavailable, crowded()
	case errors.Is(failed, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout, tooSlow()
	}
	return http.StatusBadRequest, parseError(errors.New("the body ends early"))
}

// end gives back what the exchange took, when its reply has been written: results can't
// pile up for clients that don't read.
func (x *exchange) end() {
	x.account.bytes.Add(-x.held)
	x.account.calls.Add(-x.slots.Load())
	s := x.web.server
	if x.r.ProtoMajor != 1 && x.slots.Load() == 0 {
		s.unseat(x.account)
	}
	for range x.slots.Load() {
		s.release()
	}
	x.backend.leave()
	if x.events == nil { // or progress may still come
		*x = exchange{}
		s.exchanges.Put(x)
	}
}

// admit takes a slot for a call.
func (x *exchange) admit() bool {
	s := x.web.server
	if x.account.calls.Add(1) > int64(s.opts.MaxInFlight) || !s.admit() {
		x.account.calls.Add(-1)
		return false
	}
	if x.slots.Add(1) == 1 && x.r.ProtoMajor != 1 {
		s.unseat(x.account) // the call's slot is its place now
	}
	return true
}

// answer judges the body and runs what it asks for.
func (x *exchange) answer(data []byte) {
	s := x.web.server
	t := &x.text
	err := t.scan(data, s.opts.MaxBatch)
	switch {
	case err != nil && err.Limit != nil && err.Limit.Name == "batch":
		x.fail(http.StatusRequestEntityTooLarge, err)
	case err != nil:
		x.fail(http.StatusOK, err)
	case t.batch:
		x.answerBatch(t)
	default:
		x.answerOne(&t.one)
	}
}

func (x *exchange) answerOne(e *envelope) {
	switch {
	case e.isResponse():
		x.w.WriteHeader(http.StatusNoContent)
		return
	case e.fault != "":
		x.send(http.StatusOK, appendError(nil, e.id, invalidRequest(e.fault)))
		return
	}
	c := x.newCall(&x.single, e)
	x.expectEvents(c.id != nil && c.token != nil)
	x.reply(x.run(c))
}

// reply answers the one call.
func (x *exchange) reply(result json.RawMessage, failure *registry.Error) {
	c := &x.single
	switch {
	case c.id == nil:
		x.w.WriteHeader(http.StatusNoContent)
	case failure != nil:
		x.finish(appendError(nil, c.id, failure))
	case x.events != nil || len(c.id)+len(result) >= largePiece:
		x.finish(newResult(c.id, result)) // not kept in a pool
	default:
		s := x.web.server
		reply := s.buffers.Get().(*[]byte)
		*reply = appendResult((*reply)[:0], c.id, result)
		x.finish(*reply)
		s.buffers.Put(reply)
	}
}

// newCall makes c the call of a message in the body, which is the exchange's own.
func (x *exchange) newCall(c *call, e *envelope) *call {
	c.take(e, x.backend)
	c.inv, c.peer = x.inv, x.r.RemoteAddr
	return c
}

// run runs one call on the request's goroutine.
func (x *exchange) run(c *call) (json.RawMessage, *registry.Error) {
	s := x.web.server
	switch {
	case c.method == methodCancel:
		_, err := cancelledID(c.params)
		return json.RawMessage("null"), err
	case c.method == methodAuthenticate:
		return nil, invalidRequest("over HTTP the token is a bearer header, not rpc.authenticate")
	case c.id == nil && strings.HasPrefix(c.method, "$/"):
		return nil, nil
	case x.web.own && s.isDraining() || !x.web.own && !s.enter():
		return nil, shuttingDown(c.method, registry.NotSent)
	}
	if x.web.own { // the listener waits for its requests before it ends
		return x.runAdmitted(x.r.Context(), c)
	}
	return x.runAbroad(c)
}

// runAbroad runs a call on a listener of someone else's, which knows nothing of a shutdown.
func (x *exchange) runAbroad(c *call) (json.RawMessage, *registry.Error) {
	s := x.web.server
	defer s.live.Done()
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	defer context.AfterFunc(s.halt, cancel)()
	return x.runAdmitted(ctx, c)
}

// runAdmitted runs a call if not too many run.
func (x *exchange) runAdmitted(ctx context.Context, c *call) (json.RawMessage, *registry.Error) {
	if !x.admit() {
		if c.id == nil {
			x.web.server.stats.droppedNotifications.Add(1)
		}
		return nil, overloaded(c.method, "too many calls in flight")
	}
	return x.web.server.invoke(ctx, c, x.events.progress(c))
}

// answerBatch runs the messages of a batch at the same time.
func (x *exchange) answerBatch(t *text) {
	gathered := newBatch(len(t.many), x.web.server.opts.MaxBatchOutput, false)
	calls := make([]*call, len(t.many))
	wanted := false
	for i := range t.many {
		e := &t.many[i]
		switch {
		case e.isResponse():
		case e.fault != "":
			gathered.replies[i] = appendError(nil, e.id, invalidRequest(e.fault))
		default:
			calls[i] = x.newCall(new(call), e)
			wanted = wanted || calls[i].id != nil && calls[i].token != nil
		}
	}
	x.expectEvents(wanted)
	var all sync.WaitGroup
	for i, c := range calls {
		if c == nil {
			continue
		}
		all.Go(func() {
			if result, failure := x.run(c); c.id != nil {
				gathered.finish(i, c, result, failure)
			}
		})
	}
	all.Wait()
	parts, size := gathered.parts()
	if parts == nil {
		x.w.WriteHeader(http.StatusNoContent)
		return
	}
	body := make([]byte, 0, size)
	for _, part := range parts {
		body = append(body, part...)
	}
	x.finish(body)
}

// finish sends the reply, as JSON or as the last event.
func (x *exchange) finish(reply []byte) {
	if x.events != nil {
		x.events.last(reply)
		return
	}
	x.send(http.StatusOK, reply)
}
