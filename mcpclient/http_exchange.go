package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/cupule/cupule/internal/strictjson"
	"github.com/cupule/cupule/registry"
)

// exchange is one POST and its answer.
type exchange struct {
	peer    *httpPeer
	id      int64
	request *request
	body    []byte
	sent    atomic.Bool // something of the request was written
	mark    *bookmark   // of a stream that is opened again; nil for an answer
}

func (x *exchange) ran() registry.Ran {
	if x.sent.Load() {
		return registry.Sent
	}
	return registry.NotSent
}

func (x *exchange) run(ctx context.Context) (json.RawMessage, error) {
	resp, err := x.send(ctx)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	result, err := x.read(resp)
	if err != nil && ctx.Err() != nil && asError(err).Ran != registry.Completed {
		return nil, ended(ctx, registry.Sent)
	}
	return result, err
}

// send posts the message and waits for the head of the response.
func (x *exchange) send(ctx context.Context) (*http.Response, error) {
	req, err := x.peer.newRequest(traced(ctx, &x.sent), http.MethodPost, x.body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	x.describe(req.Header)
	resp, err := x.peer.carrier.RoundTrip(req)
	if err != nil {
		return nil, x.lost(ctx, err)
	}
	return resp, nil
}

// describe sets the headers in which the newest protocol repeats what the body says.
func (x *exchange) describe(h http.Header) {
	if x.request.method == "" || !x.peer.agreed.Load().modern {
		return
	}
	h.Set("Mcp-Method", x.request.method)
	if x.request.name != "" {
		h.Set("Mcp-Name", headerText(x.request.name))
	}
	for _, extra := range x.request.headers {
		h.Set("Mcp-Param-"+extra.name, extra.value)
	}
}

// lost says what it means that no response came.
func (x *exchange) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ended(ctx, x.ran())
	}
	cause := masked{x.peer.mask, err}
	var address *errAddress
	switch {
	case errors.As(err, &address):
		return because(failure(registry.KindUnavailable, registry.NotSent, "the server's address is refused: %s", address.why), cause)
	case !x.sent.Load():
		return because(failure(registry.KindUnavailable, registry.NotSent, "the server could not be connected to"), cause)
	case strings.Contains(err.Error(), "headers exceeded"):
		return because(failure(registry.KindUpstreamError, registry.Sent, "the server's response has more than %d bytes of headers", maxHeaderBytes), cause)
	}
	return because(failure(registry.KindOutcomeUnknown, registry.Sent, "the connection to the server broke before it answered"), cause)
}

// masked is an error whose text may repeat secrets.
type masked struct {
	masker
	err error
}

func (m masked) Error() string { return m.mask(m.err.Error()) }
func (m masked) Unwrap() error { return m.err }

// read reads the answer from a response.
func (x *exchange) read(resp *http.Response) (json.RawMessage, error) {
	if resp.StatusCode != http.StatusOK {
		return nil, x.peer.refused(resp, x)
	}
	if encoding := resp.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return nil, failure(registry.KindUpstreamError, registry.Sent, "the server's response is compressed (%.20q), which it was not asked for", encoding)
	}
	if err := x.peer.keepSession(resp.Header.Get("Mcp-Session-Id")); err != nil {
		return nil, err
	}
	switch kind := mediaType(resp); kind {
	case "application/json":
		return x.readJSON(resp)
	case "text/event-stream":
		return x.readEvents(resp.Body)
	default:
		return nil, failure(registry.KindUpstreamError, registry.Sent, "the server's response is of the type %.60q, where JSON or an event stream is due", kind)
	}
}

func mediaType(resp *http.Response) string {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return kind
}

// maxSessionID bounds what a server may call a session.
const maxSessionID = 1 << 10

// keepSession takes the name of the session from the answer to initialize.
func (p *httpPeer) keepSession(id string) error {
	known := p.session.Load()
	switch {
	case id == "" || p.agreed.Load().modern:
		return nil
	case len(id) > maxSessionID:
		return failure(registry.KindUpstreamError, registry.Sent, "the server's session id has more than %d bytes", maxSessionID)
	case known == nil:
		p.session.Store(&id)
	case *known != id:
		return failure(registry.KindUpstreamError, registry.Sent, "the server has changed the id of the session")
	}
	return nil
}

func (x *exchange) readJSON(resp *http.Response) (json.RawMessage, error) {
	limit := x.request.limit + FrameOverhead
	if resp.ContentLength > int64(limit) {
		return nil, x.tooLarge()
	}
	body, err := x.readBody(resp, limit)
	body = trimBOM(body)
	m := parse(body)
	switch {
	case err != nil && m.problem != "" && strictjson.Valid(body, maxDepth) != nil:
		cause := masked{x.peer.mask, err}
		return nil, because(failure(registry.KindOutcomeUnknown, registry.Sent, "the connection to the server broke within its answer"), cause)
	case len(body) > limit:
		return nil, x.tooLarge()
	case len(body) == 0:
		return nil, failure(registry.KindUpstreamError, registry.Sent, "the server's response is empty")
	}
	answer := x.sort(body)
	if answer == nil {
		return nil, failure(registry.KindUpstreamError, registry.Sent, "the server's response is no answer to the request%s", why(m.problem))
	}
	return settle(answer, x.pending(), x.peer.mask)
}

func why(problem string) string {
	if problem == "" {
		return ""
	}
	return ": " + problem
}

func (x *exchange) pending() *pending {
	return &pending{limit: x.request.limit, output: x.request.output, place: x.request.place, shape: &x.request.shape}
}

func (x *exchange) tooLarge() error { return tooLarge(x.pending()) }

// answers reports whether m is the response to this request.
func (x *exchange) answers(m *message) bool {
	id, ok := ownID(m.id)
	return ok && id == x.id && m.method == nil
}

// readBody reads at most limit bytes and one more. With an error it returns what came before.
func (x *exchange) readBody(resp *http.Response, limit int) ([]byte, error) {
	size := 512
	if resp.ContentLength > 0 {
		size = int(min(resp.ContentLength, int64(limit))) + 1
	}
	var buf []byte
	for {
		if len(buf) == cap(buf) {
			if size > largeList {
				atOnce, err := x.claim()
				if err != nil {
					return buf, err
				}
				if atOnce && resp.ContentLength < 0 {
					size = limit + 1
				}
			}
			grown := make([]byte, len(buf), min(size, limit+1))
			copy(grown, buf)
			buf, size = grown, 2*cap(grown)
		}
		n, err := resp.Body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case errors.Is(err, io.EOF):
			return buf, nil
		case err != nil:
			return buf, err
		case len(buf) > limit:
			return buf, nil
		}
	}
}

// statusError is a response with a status that is no answer.
type statusError struct{ code int }

func (e *statusError) Error() string { return fmt.Sprintf("the server's status was %d", e.code) }

// isStatus reports whether err is about a status.
func isStatus(err error) bool {
	var s *statusError
	return errors.As(err, &s)
}

// final reports whether the server refused the client as such, so that asking in another
// protocol is of no use.
func (e *statusError) final() bool {
	switch e.code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return e.code >= 300 && e.code < 400
}

// refused says what a status other than 200 means. What may have run is said with care: a
// status of the 5xx can come from a gateway that lost patience.
func (p *httpPeer) refused(resp *http.Response, x *exchange) error {
	code := resp.StatusCode
	cause := &statusError{code}
	if code == http.StatusNotFound && p.session.Load() != nil {
		p.expired.Store(true)
		return because(failure(registry.KindUnavailable, registry.Completed, "the server has ended the session"), cause)
	}
	// Many servers say 400 of a session that they don't know. Whatever it means here, the
	// next call begins a new session.
	if code == http.StatusBadRequest && p.session.Load() != nil {
		p.expired.Store(true)
	}
	if x != nil {
		if e := x.fault(resp, cause); e != nil {
			return e
		}
	}
	e := because(failure(registry.KindUpstreamError, registry.Completed, "the server answered with HTTP status %d", code), cause)
	switch {
	case code < 300:
		e.Ran = registry.Sent
		e.Message = fmt.Sprintf("the server answered with HTTP status %d, which carries no result", code)
	case code < 400:
		e.Message = fmt.Sprintf("the server answered with a redirect (%d), which is not followed", code)
	case code >= 500:
		e.Ran = registry.Sent
	}
	e.RetryAfter = retryAfter(resp.Header)
	return e
}

// fault returns the JSON-RPC error that came with an error status, or nil where there is none.
func (x *exchange) fault(resp *http.Response, cause error) error {
	if mediaType(resp) != "application/json" || resp.StatusCode < 400 {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, FrameOverhead))
	if err != nil {
		return nil
	}
	m := parse(body)
	if m.fault == nil || !x.answers(&m) && m.id != nil && strictjson.KindOf(m.id) != strictjson.Null {
		return nil
	}
	_, err = settle(&m, x.pending(), x.peer.mask)
	e := asError(err)
	e.Err = errors.Join(e.Err, cause)
	e.RetryAfter = retryAfter(resp.Header)
	return e
}
