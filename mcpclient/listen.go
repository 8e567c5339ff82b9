package mcpclient

import "context"

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
		p.listen(ctx)
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
