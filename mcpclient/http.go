package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/registry"
)

// httpPeer is a conversation over Streamable HTTP. Each request is one POST, and its answer
// is read from that POST's response alone.
type httpPeer struct {
	url     string
	carrier *http.Transport
	headers map[string]secret // the configured ones, the bearer token included
	mask    masker
	notes   *notes

	agreed  atomic.Pointer[agreement]
	session atomic.Pointer[string] // what the server calls the session; nil where it has none
	expired atomic.Bool
	next    atomic.Int64
	stray   strays

	life   context.Context // of requests; its cause is a *registry.Error
	end    context.CancelCauseFunc
	rest   context.Context // of what nobody waits for: it outlives the requests
	stop   context.CancelFunc
	closer sync.Once
	work   sync.WaitGroup // messages that nobody waits for
	busy   atomic.Int32   // how many of them there are
}

func newHTTP(s *config.Server, v *variables, n *notes) (*httpPeer, error) {
	carrier, err := newTransport(s, v)
	if err != nil {
		return nil, err
	}
	p := &httpPeer{url: s.HTTP.URL, carrier: carrier, mask: v.masker(), notes: n, headers: map[string]secret{}}
	for name, value := range v.headers {
		p.headers[name] = value
	}
	if v.bearer != "" {
		p.headers["Authorization"] = "Bearer " + v.bearer
	}
	p.agreed.Store(&agreement{})
	p.next.Store(firstID)
	p.life, p.end = context.WithCancelCause(context.Background())
	p.rest, p.stop = context.WithCancel(context.Background())
	return p, nil
}

func (p *httpPeer) adopt(a *agreement) { p.agreed.Store(a) }

func (p *httpPeer) alive() bool { return !p.expired.Load() && p.life.Err() == nil }

func (p *httpPeer) over() <-chan struct{} { return p.life.Done() }

func (p *httpPeer) evidence() evidence { return evidence{strays: p.stray.String()} }

func (p *httpPeer) interrupt(e *registry.Error) { p.end(e) }

// within returns ctx, ended also when the conversation ends.
func (p *httpPeer) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(p.life, func() { cancel(context.Cause(p.life)) })
	return ctx, func() { stop(); cancel(nil) }
}

func (p *httpPeer) do(ctx context.Context, r *request) (json.RawMessage, error) {
	if !p.alive() {
		return nil, p.dead()
	}
	id := p.next.Add(1) - 1
	a := p.agreed.Load()
	ctx, cancel := p.within(ctx)
	defer cancel()
	x := &exchange{peer: p, id: id, request: r, body: a.appendRequest(nil, id, r)}
	result, err := x.run(ctx)
	if err != nil && x.sent.Load() && ctx.Err() != nil && !a.modern && r.cancellable() {
		p.cancelled(id)
	}
	return result, err
}

func (p *httpPeer) dead() error {
	if p.expired.Load() {
		return failure(registry.KindUnavailable, registry.NotSent, "the server has ended the session")
	}
	return ended(p.life, registry.NotSent)
}

// cancelled tells a server of the older protocols that a request was given up. For the newest,
// the closed stream says so.
func (p *httpPeer) cancelled(id int64) {
	p.later(appendNotification(nil, "notifications/cancelled", `{"requestId":`+strconv.FormatInt(id, 10)+`}`))
}

// maxLater is how many messages may be on their way that nobody waits for.
const maxLater = 8

// later posts a message that nobody waits for, if there are not too many already.
func (p *httpPeer) later(body []byte) {
	if p.busy.Add(1) > maxLater || p.rest.Err() != nil {
		p.busy.Add(-1)
		return
	}
	p.work.Go(func() {
		defer p.busy.Add(-1)
		ctx, cancel := context.WithTimeout(p.rest, CloseBudget)
		defer cancel()
		_ = p.post(ctx, body)
	})
}

func (p *httpPeer) notify(ctx context.Context, method, params string) error {
	ctx, cancel := p.within(ctx)
	defer cancel()
	return p.post(ctx, appendNotification(nil, method, params))
}

// post sends a message that has no answer.
func (p *httpPeer) post(ctx context.Context, body []byte) error {
	x := &exchange{peer: p, body: body, request: &request{}}
	resp, err := x.send(ctx)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return p.refused(resp, nil)
	}
	// A body means nothing here, and one that stays open must hold up nothing.
	if resp.ContentLength >= 0 && resp.ContentLength <= FrameOverhead {
		_, _ = io.CopyN(io.Discard, resp.Body, resp.ContentLength)
	}
	return nil
}

// newRequest makes a request to the configured URL, which is the only one that ever gets
// the configured headers.
func (p *httpPeer) newRequest(ctx context.Context, verb string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, opening()), verb, p.url, bytes.NewReader(body))
	if err != nil {
		return nil, because(failure(registry.KindUnavailable, registry.NotSent, "the server's URL can't be used"), err)
	}
	for name, value := range p.headers {
		req.Header.Set(name, string(value))
	}
	// Package http sends a request with either header again when a used connection ends
	// before the answer, if it can read the body anew.
	if req.Header.Get("Idempotency-Key") != "" || req.Header.Get("X-Idempotency-Key") != "" {
		req.GetBody = nil
	}
	req.Header.Set("User-Agent", DefaultName)
	a := p.agreed.Load()
	if a.version != "" {
		req.Header.Set("Mcp-Protocol-Version", a.version)
	}
	if id := p.session.Load(); id != nil {
		req.Header.Set("Mcp-Session-Id", *id)
	}
	return req, nil
}

// close ends the conversation: the server's session, where it has one, then the connections.
func (p *httpPeer) close(now bool) {
	p.closer.Do(func() {
		defer p.carrier.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(p.rest, CloseBudget)
		defer cancel()
		p.end(errClosed)
		if !now && !p.expired.Load() {
			p.settle(ctx)
			p.delete(ctx)
		}
		p.stop()
		p.work.Wait()
	})
}

// settle waits for the messages that are still on their way.
func (p *httpPeer) settle(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.work.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// delete ends the server's session.
func (p *httpPeer) delete(ctx context.Context) {
	if p.session.Load() == nil {
		return
	}
	req, err := p.newRequest(ctx, http.MethodDelete, nil)
	if err != nil {
		return
	}
	resp, err := p.carrier.RoundTrip(req)
	if err == nil {
		_ = resp.Body.Close()
	}
}

// traced notes in sent when the first of a request is written.
func traced(ctx context.Context, sent *atomic.Bool) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
}

// retryAfter reads how long a server wants to be left alone, within bounds.
func retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	var d time.Duration
	if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
		d = time.Duration(min(seconds, int64(MaxRetryAfter/time.Second))) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		d = time.Until(at)
	}
	return min(max(d, 0), MaxRetryAfter)
}
