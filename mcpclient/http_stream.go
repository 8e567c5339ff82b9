package mcpclient

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"
)

// A server of the older protocols may offer a stream for what belongs to no call. It is opened
// again when it ends, as long as the conversation lives.

const (
	// minPause and maxPause bound the wait before a stream is opened again, whatever the server
	// asks for.
	minPause = time.Second
	maxPause = 30 * time.Second
	// maxEventID bounds what a server may call an event; a longer one is not repeated to it.
	maxEventID = 1 << 10
)

// listen reads the stream until the conversation ends, or the server refuses it.
func (p *httpPeer) listen(ctx context.Context) {
	ctx, cancel := p.within(ctx)
	defer cancel()
	var mark bookmark
	for next := minPause; p.alive(); {
		began := time.Now()
		outcome, wait := p.stream(ctx, &mark)
		switch {
		case outcome == streamRefused:
			return
		case outcome == streamRead && (mark.turned || time.Since(began) >= maxPause):
			next = minPause
		}
		if wait == 0 {
			wait, next = max(next, mark.retry), min(2*next, maxPause)
		}
		timer := time.NewTimer(min(max(wait, minPause), maxPause))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// What became of a stream.
type streamOutcome int

const (
	streamRead    streamOutcome = iota // it was open, and has ended
	streamFailed                       // it could not be opened now
	streamRefused                      // the server has none for this client
)

// stream opens the stream and reads it to its end. It returns how long the server wants to be left
// alone; zero where it doesn't say.
func (p *httpPeer) stream(ctx context.Context, mark *bookmark) (streamOutcome, time.Duration) {
	req, err := p.newRequest(ctx, http.MethodGet, nil)
	if err != nil {
		return streamRefused, 0
	}
	req.Header.Set("Accept", "text/event-stream")
	if len(mark.id) > 0 {
		req.Header.Set("Last-Event-ID", string(mark.id))
	}
	resp, err := p.carrier.RoundTrip(req)
	if err != nil {
		return streamFailed, 0
	}
	defer resp.Body.Close()
	switch {
	case mayPass(resp.StatusCode):
		return streamFailed, retryAfter(resp.Header)
	case resp.StatusCode != http.StatusOK || mediaType(resp) != "text/event-stream":
		return streamRefused, 0
	}
	mark.open()
	x := &exchange{peer: p, request: &request{}, mark: mark}
	_, _ = x.readEvents(resp.Body)
	return streamRead, mark.retry
}

// mayPass reports whether a status is about the moment rather than about the request.
func mayPass(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	}
	return status >= 500 && status != http.StatusNotImplemented
}

// bookmark is how far a stream has been read, and when it may be opened again. A nil bookmark
// takes nothing.
type bookmark struct {
	id     []byte        // of the last whole event
	next   []byte        // of the event that is being read
	turned bool          // something came since the stream was opened
	retry  time.Duration // what the server asked for; zero where it did not
}

// open begins another reading.
func (b *bookmark) open() { b.next, b.turned = append(b.next[:0], b.id...), false }

// name takes the id of the event that is being read. One that no header could carry is none.
func (b *bookmark) name(id []byte) {
	if b == nil || len(id) > maxEventID {
		return
	}
	if bytes.ContainsFunc(id, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return
	}
	b.next = append(b.next[:0], id...)
}

// turn takes the end of an event.
func (b *bookmark) turn() {
	if b != nil {
		b.id, b.turned = append(b.id[:0], b.next...), true
	}
}

// pause takes a retry time in milliseconds. What is no number is ignored, and a larger one than
// maxPause is maxPause.
func (b *bookmark) pause(value []byte) {
	if b == nil || len(value) == 0 || bytes.ContainsFunc(value, func(r rune) bool { return r < '0' || r > '9' }) {
		return
	}
	ms, err := strconv.ParseInt(string(value), 10, 64)
	if limit := maxPause.Milliseconds(); err != nil || ms > limit {
		ms = limit
	}
	b.retry = max(time.Duration(ms)*time.Millisecond, minPause)
}
