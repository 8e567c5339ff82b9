package mcptest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// peer is the state of a server: of one child, or of all the sessions over HTTP.
type peer struct {
	script Script
	record *recorder

	mu          sync.Mutex // protects what follows
	reached     map[int]int
	running     map[string]context.CancelFunc
	asked       map[string]chan json.RawMessage
	held        []chan struct{}
	answered    []byte // the last id that was answered
	count       int    // of cursors and own requests
	initialized bool
	ignoreEOF   bool
	deaf        bool
}

func newPeer(s Script, r *recorder) *peer {
	return &peer{
		script: s, record: r, reached: map[int]int{},
		running: map[string]context.CancelFunc{}, asked: map[string]chan json.RawMessage{},
	}
}

// message is a JSON-RPC message as far as a server looks at it.
type message struct {
	Method string          `json:"method"`
	ID     json.RawMessage `json:"id"`
	Params json.RawMessage `json:"params"`
	raw    []byte
}

func parse(raw []byte) (message, error) {
	m := message{raw: raw}
	err := json.Unmarshal(raw, &m)
	return m, err
}

func (m *message) isRequest() bool { return m.Method != "" && m.ID != nil }
func (m *message) isReply() bool   { return m.Method == "" && m.ID != nil }

// name is that of the tool, prompt or resource that a request is about.
func (m *message) name() string {
	var params struct{ Name, URI string }
	_ = json.Unmarshal(m.Params, &params)
	return orElse(params.Name, params.URI)
}

// wire carries a server's messages to its client.
type wire interface {
	// send writes one message; last says that it is the answer, and that no other follows.
	send(message []byte, last bool) error
	// stream writes bytes as they stand, with nothing else in between.
	stream(write func(io.Writer) error) error
	// abort ends the process or the connection. It doesn't return.
	abort(code int)
}

// receive takes a message in. It returns the turn that answers it, or nil where there is
// nothing to do.
func (p *peer) receive(conn context.Context, w wire, m message, ready bool) *turn {
	switch {
	case m.isReply():
		p.deliver(m)
		return nil
	case m.Method == string(Cancelled):
		p.cancel(m)
	}
	t := &turn{peer: p, wire: w, msg: m, conn: conn, id: m.ID, ready: ready}
	t.ctx, t.stop = context.WithCancel(conn)
	if m.isRequest() {
		p.mu.Lock()
		p.running[string(m.ID)] = t.stop
		p.mu.Unlock()
	}
	t.faults = p.due(Step(m.Method), m.name())
	return t
}

func (p *peer) deliver(m message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ch, ok := p.asked[string(m.ID)]; ok {
		delete(p.asked, string(m.ID))
		ch <- m.raw
	}
}

func (p *peer) cancel(m message) {
	var params struct{ RequestID json.RawMessage }
	_ = json.Unmarshal(m.Params, &params)
	p.mu.Lock()
	defer p.mu.Unlock()
	if stop, ok := p.running[string(params.RequestID)]; ok {
		stop()
	}
}

// expect returns an id for a request of the server's own, and where its reply will come.
func (p *peer) expect() (id string, reply chan json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	id, reply = fmt.Sprintf(`"ask-%d"`, p.count), make(chan json.RawMessage, 1)
	p.asked[id] = reply
	return id, reply
}

func (p *peer) nextCursor() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	return fmt.Sprintf("cursor-%d", p.count)
}

func (p *peer) lastAnswered() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answered == nil {
		return []byte("0")
	}
	return bytes.Clone(p.answered)
}

// done notes that a request was answered, and releases the answers that waited for that.
func (p *peer) done(id []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answered = id
	for _, ch := range p.held {
		close(ch)
	}
	p.held = nil
}

func (p *peer) holdBack() chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	ch := make(chan struct{})
	p.held = append(p.held, ch)
	return ch
}

func (p *peer) set(flag *bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*flag = true
}

func (p *peer) is(flag *bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return *flag
}
