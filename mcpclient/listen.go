package mcpclient

import (
	"context"
	"net/http"
)

// listen receives what the server says outside calls, until the conversation ends: over a
// child's pipe that comes by itself, over HTTP in a stream that has to be asked for, and in the newest
// protocol changed lists have to be subscribed to.
func (l *link) listen() {
	ctx := context.Background()
	if l.agreed.modern {
		if lists := l.lists(); lists != "" {
			_ = l.listenFor(ctx, func(dst []byte) []byte { return append(dst, lists...) })
		}
		return
	}
	if p, ok := l.peer.(*httpPeer); ok {
		p.stream(ctx)
	}
}

// listenFor asks for notifications in a stream of the newest protocol, until that ends.
func (l *link) listenFor(ctx context.Context, filter func(dst []byte) []byte) error {
	r := control("subscriptions/listen", func(dst []byte) []byte {
		return append(filter(append(dst, `"notifications":{`...)), '}')
	})
	r.limit = FrameOverhead
	_, err := l.do(ctx, r)
	return err
}

// lists names the lists whose changes the server tells of.
func (l *link) lists() string {
	text := ""
	add := func(able bool, name string) {
		if able && text != "" {
			text += ","
		}
		if able {
			text += `"` + name + `":true`
		}
	}
	add(l.agreed.can("tools", "listChanged"), "toolsListChanged")
	add(l.agreed.can("prompts", "listChanged"), "promptsListChanged")
	add(l.agreed.can("resources", "listChanged"), "resourcesListChanged")
	return text
}

// stream reads the stream that a server of the older protocols may offer for what belongs to
// no call. It is not asked for again when it ends.
func (p *httpPeer) stream(ctx context.Context) {
	ctx, cancel := p.within(ctx)
	defer cancel()
	req, err := p.newRequest(ctx, http.MethodGet, nil)
	if err != nil {
		return
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := p.carrier.RoundTrip(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || mediaType(resp) != "text/event-stream" {
		return
	}
	x := &exchange{peer: p, request: &request{}}
	_, _ = x.readEvents(resp.Body)
}
