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

// exchange is one POST and its answer.
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
	if len(x.r.TransferEncoding) > 0 {
		x.w.Header().Set("Connection", "close") // a length may have stood beside it, which others go by
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
func (x *exchange) read() ([]byte, int, *registry.Error) {
	opts := &x.web.server.opts
	control := http.NewResponseController(x.w)
	if !x.web.own {
		_ = control.SetReadDeadline(time.Now().Add(opts.MessageTimeout))
	}
	data, failed := x.readWithin(control)
	_, large := errors.AsType[*http.MaxBytesError](failed)
	switch {
	case large:
		return nil, http.StatusRequestEntityTooLarge, tooLong(opts.MaxMessage)
	case failed == errCrowded:
		x.w.Header().Set("Retry-After", "1")
		return nil, http.StatusServiceUnavailable, crowded()
	case errors.Is(failed, os.ErrDeadlineExceeded):
		return nil, http.StatusRequestTimeout, tooSlow()
	case failed != nil:
		return nil, http.StatusBadRequest, parseError(errors.New("the body ends early"))
	}
	_ = control.SetReadDeadline(time.Time{})
	return data, 0, nil
}

// readWithin reads the body into memory that it has claimed, if it is more than a little.
func (x *exchange) readWithin(control *http.ResponseController) ([]byte, error) {
	if n := x.r.ContentLength; 0 <= n && n <= ownBody {
		data := make([]byte, n)
		_, err := io.ReadFull(x.r.Body, data)
		return data, err
	}
	limit := x.web.server.opts.MaxMessage
	r := &room{server: x.web.server, evict: func() { _ = control.SetReadDeadline(time.Unix(1, 0)) }}
	body := http.MaxBytesReader(x.w, x.r.Body, int64(limit))
	data, err := readBody(body, int(x.r.ContentLength), limit, r, x.r.Context().Done())
	r.release()
	if r.evicted {
		err = errCrowded
	}
	return data, err
}

// free gives back what the exchange took, when its reply has been written: results can't
// pile up for clients that don't read.
func (x *exchange) free() {
	x.account.bytes.Add(-x.held)
	x.account.calls.Add(-x.slots.Load())
	for range x.slots.Load() {
		x.web.server.release()
	}
}

// admit takes a slot for a call.
func (x *exchange) admit() bool {
	s := x.web.server
	if x.account.calls.Add(1) > int64(s.opts.MaxInFlight) || !s.admit() {
		x.account.calls.Add(-1)
		return false
	}
	x.slots.Add(1)
	return true
}

// answer judges the body and runs what it asks for.
func (x *exchange) answer(data []byte) {
	s := x.web.server
	t := &x.text
	err := t.scan(data, s.opts.MaxBatch)
	switch {
	case err != nil && err.Limit != nil && err.Limit.Name == "batch":
		x.web.fail(x.w, x.r, http.StatusRequestEntityTooLarge, err)
	case err != nil:
		x.web.fail(x.w, x.r, http.StatusOK, err)
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
		x.web.send(x.w, x.r, http.StatusOK, appendError(nil, e.id, invalidRequest(e.fault)))
		return
	}
	c := x.newCall(&x.single, e)
	x.expectEvents(c.id != nil && c.token != nil)
	result, failure := x.run(c)
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
	case !s.enter():
		return nil, shuttingDown(c.method, registry.NotSent)
	}
	defer s.live.Done()
	if !x.admit() {
		if c.id == nil {
			s.stats.droppedNotifications.Add(1)
		}
		return nil, overloaded(c.method, "too many calls in flight")
	}
	ctx := x.r.Context()
	if !x.web.own {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.halt, cancel)()
	}
	return s.invoke(ctx, c, x.events.progress(c))
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
	x.web.send(x.w, x.r, http.StatusOK, reply)
}
