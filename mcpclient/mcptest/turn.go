package mcptest

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"os"
	"slices"
	"time"
)

const (
	gigabyte    = 1 << 30
	endless     = math.MaxInt64
	defaultLate = time.Second
	defaultAsk  = 2 * time.Second
)

// turn is what a server does about one message, or at one step that has none.
type turn struct {
	*peer
	wire   wire
	msg    message
	conn   context.Context // ends with the connection
	ctx    context.Context // ends also when the client cancels the request
	stop   context.CancelFunc
	faults []Fault
	fault  Fault // the one that happens now

	modern bool // the request carries its protocol version
	ready  bool // the handshake came before, where one is due

	// The answer: exact, or an id and a list or other content.
	id      []byte
	content string
	list    *listing
	exact   []byte
}

// at returns the turn of a step without a message.
func (p *peer) at(step Step, ctx context.Context, w wire) *turn {
	return &turn{peer: p, wire: w, conn: ctx, ctx: ctx, stop: func() {}, faults: p.due(step, "")}
}

// run makes the answer of a good server, lets every fault have its way, and sends what is left.
func (t *turn) run() {
	defer t.end()
	t.answer()
	if d := t.delay(); d > 0 && !t.wait(t.ctx, d) {
		return
	}
	taken := false
	for _, f := range t.faults {
		t.fault = f
		b := behaviours[f.Do]
		b.do(t)
		taken = taken || b.takes
	}
	if !taken && t.msg.isRequest() {
		t.finish()
	}
}

// long reports whether others must not wait for this turn.
func (t *turn) long() bool {
	return len(t.faults) > 0 || t.delay() > 0 || t.msg.Method == "subscriptions/listen"
}

func (t *turn) has(b Behaviour) bool {
	return slices.ContainsFunc(t.faults, func(f Fault) bool { return f.Do == b })
}

func (t *turn) end() {
	t.stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, string(t.msg.ID))
}

// finish sends the answer.
func (t *turn) finish() {
	t.send(t.frame(), true)
	t.done(t.msg.ID)
}

// frame is the answer as a message.
func (t *turn) frame() []byte {
	content := t.content
	switch {
	case t.exact != nil:
		return t.exact
	case t.msg.ID == nil:
		return []byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"mcptest"}}`)
	case t.list != nil:
		content = `"result":` + t.finished(t.list.encode())
	}
	if content != "" {
		content = "," + content
	}
	return []byte(`{"jsonrpc":"2.0","id":` + string(t.id) + content + `}`)
}

func (t *turn) send(message []byte, last bool) { _ = t.wire.send(message, last) }

func (t *turn) write(text string) {
	_ = t.wire.stream(func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
}

// wait reports whether it could wait for d.
func (t *turn) wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (t *turn) half() []byte { return t.frame()[:len(t.frame())/2] }

func (t *turn) notify(method string, params json.RawMessage) {
	if params == nil {
		params = json.RawMessage("{}")
	}
	t.send([]byte(`{"jsonrpc":"2.0","method":`+string(encode(method))+`,"params":`+string(params)+`}`), false)
}

// ask sends a request to the client, and waits for its reply for a while.
func (t *turn) ask(method, params string) {
	id, reply := t.expect()
	t.send([]byte(`{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":`+params+`}`), false)
	timer := time.NewTimer(orElse(t.fault.Delay, defaultAsk))
	defer timer.Stop()
	select {
	case raw := <-reply:
		t.record.add(Event{Kind: Replied, Method: method, ID: json.RawMessage(id), Message: raw})
	case <-timer.C:
	case <-t.conn.Done():
	}
}

// complain writes to the child's standard error.
func (t *turn) complain() {
	_, _ = os.Stderr.WriteString(t.fault.Text)
	_ = fill(os.Stderr, 'x', t.fault.Size)
}

// crash is the end of the process, or of the connection.
func (t *turn) crash() {
	_, _ = os.Stderr.WriteString(t.fault.Text)
	t.wire.abort(orElse(t.fault.Code, 1))
}

// fill writes n bytes c, as one piece.
func (t *turn) fill(c byte, n int64) {
	_ = t.wire.stream(func(w io.Writer) error { return fill(w, c, n) })
}

func fill(w io.Writer, c byte, n int64) error {
	chunk := make([]byte, min(n, 64<<10))
	for i := range chunk {
		chunk[i] = c
	}
	for n > 0 {
		k, err := w.Write(chunk[:min(n, int64(len(chunk)))])
		if n -= int64(k); err != nil {
			return err
		}
	}
	return nil
}
