package jsonrpcserver

import (
	"net/http"
	"sync"
	"time"

	"github.com/cupule/cupule/registry"
)

// events sends progress and the reply as server-sent events. Whoever reports progress
// never waits for the client: what the client is too slow for is dropped and counted.
type events struct {
	web *web
	w   http.ResponseWriter
	r   *http.Request

	account *account

	mu      sync.Mutex // guards what follows
	queue   [][]byte
	queued  int  // bytes
	writing bool // a goroutine writes from the queue
	over    bool
	idle    sync.Cond
}

// expectEvents starts a stream of events if the client accepts that and progress is wanted.
func (x *exchange) expectEvents(wanted bool) {
	if !wanted || !acceptsEvents(x.r.Header) {
		return
	}
	x.events = &events{web: x.web, w: x.w, r: x.r, account: x.account}
	x.events.idle.L = &x.events.mu
	header := x.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no")
	x.w.WriteHeader(http.StatusOK)
	x.events.flush()
}

// progress returns the function that takes a call's progress, nil where none is wanted.
func (e *events) progress(c *call) func(registry.Progress) {
	if e == nil || c.id == nil || c.token == nil {
		return nil
	}
	return func(p registry.Progress) {
		if text := progressMessage(c.token, p); text == nil || !e.report(text) {
			e.web.server.stats.droppedProgress.Add(1)
		}
	}
}

func (e *events) report(text []byte) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over || e.queued+len(text) > maxProgress {
		return false
	}
	e.queue, e.queued = append(e.queue, text), e.queued+len(text)
	if !e.writing {
		e.writing = true
		go e.drain()
	}
	return true
}

// drain writes until the queue is empty.
func (e *events) drain() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.queue) > 0 {
		text := e.queue[0]
		e.queue, e.queued = e.queue[1:], e.queued-len(text)
		e.mu.Unlock()
		e.write(text)
		e.mu.Lock()
	}
	e.writing = false
	e.idle.Broadcast()
}

// last sends the reply behind all progress; nothing may come after it.
func (e *events) last(reply []byte) {
	e.mu.Lock()
	e.over = true
	for e.writing {
		e.idle.Wait()
	}
	e.mu.Unlock()
	e.write(reply)
}

func (e *events) write(text []byte) {
	event := append(append([]byte("data: "), oneLine(text)...), "\n\n"...)
	e.web.limitWrite(e.w, e.r, e.account, len(event))
	if _, err := e.w.Write(event); err == nil {
		e.flush()
	}
	if e.r.ProtoMajor > 1 { // where a deadline that passes ends the stream, though nothing is being written
		_ = http.NewResponseController(e.w).SetWriteDeadline(time.Time{})
	}
}

func (e *events) flush() { _ = http.NewResponseController(e.w).Flush() }
