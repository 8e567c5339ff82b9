package mcpclient

import (
	"context"
	"sync"

	"github.com/cupule/cupule/registry"
)

// link is a negotiated conversation, with the catalog of tools that it has read.
type link struct {
	peer
	agreed *agreement
	server *server
	notes  *notes

	once bool // the session ends with the call that it is used for

	mu      sync.Mutex
	tools   *catalog
	epoch   int               // counts changes of the list of tools
	reading *reading          // nil while nobody reads the list
	watches map[string]*watch // by URI, newest protocol only
}

// reading is one reading of the list, for all who wait for it.
type reading struct {
	done    chan struct{}
	catalog *catalog // nil where it failed; set before done is closed
}

// catalog returns the list of tools, from memory where it hasn't changed since. Of many
// callers, one reads it.
func (l *link) catalog(ctx context.Context) (c *catalog, known bool, err error) {
	for {
		l.mu.Lock()
		if l.tools != nil {
			defer l.mu.Unlock()
			return l.tools, true, nil
		}
		r := l.reading
		if r == nil {
			l.reading = &reading{done: make(chan struct{})}
			epoch := l.epoch
			l.mu.Unlock()
			c, err = l.readCatalog(ctx, epoch)
			return c, false, err
		}
		l.mu.Unlock()
		select {
		case <-r.done:
		case <-ctx.Done():
			return nil, false, ended(ctx, registry.NotSent)
		}
		// A list that has changed while it was read serves those who waited for it all the
		// same: a server that says so each time must not make them read one after another.
		if r.catalog != nil {
			return r.catalog, true, nil
		}
	}
}

// readCatalog reads the list, and keeps it unless it has changed meanwhile.
func (l *link) readCatalog(ctx context.Context, epoch int) (*catalog, error) {
	c := newCatalog(toolList, false, l.server.allows)
	err := l.list(ctx, c)
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.reading
	l.reading = nil
	if err == nil {
		r.catalog = c
	}
	close(r.done)
	if err != nil {
		return nil, err
	}
	if l.epoch == epoch {
		l.tools = c
	}
	return c, nil
}

// readTools reads the list with its definitions, and keeps it without them unless it has
// changed meanwhile.
func (l *link) readTools(ctx context.Context) (*catalog, error) {
	l.mu.Lock()
	epoch := l.epoch
	l.mu.Unlock()
	c := newCatalog(toolList, true, l.server.allows)
	if err := l.list(ctx, c); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.epoch == epoch {
		l.tools = c.index()
	}
	return c, nil
}

// forget drops the list of tools: the server says that it has changed, or somebody wants to know.
func (l *link) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tools = nil
	l.epoch++
}

// findTool looks up one tool. One that is not in a list from memory may have come since.
func (l *link) findTool(ctx context.Context, name string) (*entry, error) {
	if l.once && l.tools == nil {
		return l.findOnly(ctx, name)
	}
	for {
		c, known, err := l.catalog(ctx)
		if err != nil {
			return nil, err
		}
		e, missing := c.tool(name)
		switch {
		case missing == nil:
			return e, nil
		case !known:
			return nil, missing
		}
		l.forget()
	}
}

// findOnly looks up the one tool that a session is for.
func (l *link) findOnly(ctx context.Context, name string) (*entry, error) {
	c := newCatalog(toolList, false, func(other string) bool { return other == name })
	if err := l.list(ctx, c); err != nil {
		return nil, err
	}
	e, missing := c.tool(name)
	if missing != nil {
		return nil, missing
	}
	return e, nil
}

// toolCall makes the request that calls a tool.
func (l *link) toolCall(t *entry, name string, args []byte, limit registry.Limit, progress func(registry.Progress)) *request {
	var headers []header
	if l.agreed.modern && l.server.HTTP != nil {
		headers = paramHeaders(t.bound, args)
	}
	return &request{
		method: "tools/call", limit: int(limit.Bytes), output: limit, progress: progress, name: name, headers: headers,
		params: func(dst []byte) []byte {
			dst = appendText(append(dst, `"name":`...), name)
			return appendLine(append(dst, `,"arguments":`...), args)
		},
	}
}
