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

	mu    sync.Mutex
	tools *catalog
	epoch int // counts changes of the list of tools
}

// catalog returns the list of tools, from memory where it hasn't changed since.
func (l *link) catalog(ctx context.Context) (*catalog, error) {
	l.mu.Lock()
	known, epoch := l.tools, l.epoch
	l.mu.Unlock()
	if known != nil {
		return known, nil
	}
	c, err := l.list(ctx, toolList)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.epoch == epoch {
		l.tools = c
	}
	return c, nil
}

// forget drops the list of tools, because the server says that it has changed.
func (l *link) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tools = nil
	l.epoch++
}

// findTool looks up one tool.
func (l *link) findTool(ctx context.Context, name string) (*entry, error) {
	c, err := l.catalog(ctx)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
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
