package mcpclient

import (
	"context"
	"sync"

	"github.com/cupule/cupule/registry"
)

// Lists over largeList are read one at a time for each server, and maxLargeLists at a time
// for all, so that what they hold doesn't grow with the number of calls. A server that is slow
// with its list delays its own callers by that.
const (
	largeList     = 256 << 10
	maxLargeLists = 4
)

// place is the right to read one page of a large list. It is given back when both the page
// has been used and nobody reads it any more.
type place struct {
	server *server
	ctx    context.Context // of the call that wants the list

	mu      sync.Mutex
	users   int
	held    bool
	refused *registry.Error // the call ended before the right was there
}

// place returns the right, not yet claimed. Its caller is the first user.
func (s *server) place(ctx context.Context) *place { return &place{server: s, ctx: ctx, users: 1} }

// claim waits for the right, as long as the call wants the list.
func (p *place) claim() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.held && p.refused == nil {
		p.refused = p.wait()
		p.held = p.refused == nil
	}
	if p.refused != nil {
		return p.refused
	}
	return nil
}

// wait takes the server's token and the client's.
func (p *place) wait() *registry.Error {
	select {
	case p.server.large <- struct{}{}:
	case <-p.ctx.Done():
		return ended(p.ctx, registry.NotSent)
	}
	select {
	case p.server.client.large <- struct{}{}:
		return nil
	case <-p.ctx.Done():
		<-p.server.large
		return ended(p.ctx, registry.NotSent)
	}
}

// refusal says why there was no place for a list, where that is so.
func (p *place) refusal() *registry.Error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}

// use adds a user.
func (p *place) use() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users++
}

// done takes a user away, and with the last one gives the right back.
func (p *place) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users--; p.users == 0 && p.held {
		<-p.server.client.large
		<-p.server.large
	}
}

// claim is asked when a line grows large. A list that is due takes a place for it, which is
// kept until the line has been handled. Meanwhile the session's other answers wait behind it.
func (k *conn) claim() (atOnce bool, err error) {
	k.reading = k.calls.list()
	if k.reading == nil {
		return false, nil
	}
	k.reading.use()
	return true, k.reading.claim()
}

// lineRead lets go of what was claimed for the line.
func (k *conn) lineRead() {
	if k.reading != nil {
		k.reading.done()
		k.reading = nil
	}
}

// list returns the place of a list that is in flight, if there is one.
func (c *calls) list() *place {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.open {
		if p.place != nil {
			return p.place
		}
	}
	return nil
}

// claim is asked when the answer of an exchange grows large.
func (x *exchange) claim() (atOnce bool, err error) {
	if x.request.place == nil {
		return false, nil
	}
	return true, x.request.place.claim()
}
