package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cupule/cupule/internal/strictjson"
	"github.com/cupule/cupule/registry"
)

// A list that a server gives page by page.
type listKind struct {
	method string // "tools/list"
	member string // of the result: "tools"
	key    string // of an entry: "name"
}

var (
	toolList     = listKind{"tools/list", "tools", "name"}
	resourceList = listKind{"resources/list", "resources", "uri"}
	templateList = listKind{"resources/templates/list", "resourceTemplates", "uriTemplate"}
	promptList   = listKind{"prompts/list", "prompts", "name"}
)

// entry is what a server advertises under one name.
type entry struct {
	raw json.RawMessage
	// count is how often the name stands in the list; only one is usable.
	count int
	// problem says why the entry is malformed, as far as it was looked at.
	problem string
	read    bool      // its definition was read
	bound   []binding // the parameters that HTTP repeats in headers, once it was read
}

// alone returns what a call needs of the entry, without the list that it stands in.
func (e *entry) alone() *entry { return &entry{count: e.count, read: e.read, bound: e.bound} }

// catalog is one complete list.
type catalog struct {
	entries map[string]*entry
	names   []string // in the order of the list
	total   int      // entries of any kind
}

// list reads a complete list, within the bounds of a catalog.
func (l *link) list(ctx context.Context, kind listKind) (*catalog, error) {
	c := &catalog{entries: make(map[string]*entry)}
	seen := map[string]bool{}
	left := MaxCatalogBytes
	for cursor, pages := "", 1; ; pages++ {
		if pages > MaxCatalogPages {
			return nil, catalogLimit(kind, registry.Limit{Name: "catalog pages", Count: MaxCatalogPages})
		}
		raw, err := l.do(ctx, page(kind, cursor, left))
		if err != nil {
			return nil, err
		}
		left -= len(raw)
		if cursor, err = c.take(kind, raw); err != nil || cursor == "" {
			return c, err
		}
		if seen[cursor] {
			return nil, failure(registry.KindUpstreamError, registry.NotSent, "the server's %s repeats a cursor", kind.method)
		}
		seen[cursor] = true
	}
}

// page makes the request for one page.
func page(kind listKind, cursor string, left int) *request {
	r := control(kind.method, nil)
	r.limit = max(left, 0)
	r.output = registry.Limit{Name: "catalog bytes", Whose: "the client", Bytes: MaxCatalogBytes}
	if cursor != "" {
		r.params = func(dst []byte) []byte { return appendText(append(dst, `"cursor":`...), cursor) }
	}
	return r
}

func catalogLimit(kind listKind, l registry.Limit) *registry.Error {
	l.Whose = "the client"
	return limited(failure(registry.KindOutputTooLarge, registry.NotSent, "the server's %s exceeds the %s", kind.method, l), l)
}

// take adds the entries of a page, and returns the cursor of the next one.
func (c *catalog) take(kind listKind, raw json.RawMessage) (cursor string, err error) {
	found := false
	for m := range strictjson.Members(raw) {
		switch string(m.Key) {
		case kind.member:
			found = true
			if err := c.page(kind, m.Value); err != nil {
				return "", err
			}
		case "nextCursor":
			cursor, _ = text(m.Value)
		}
	}
	if !found {
		return "", malformed(kind, "has no "+kind.member)
	}
	return cursor, nil
}

func malformed(kind listKind, what string) error {
	return failure(registry.KindUpstreamError, registry.NotSent, "the server's answer to %s %s", kind.method, what)
}

func (c *catalog) page(kind listKind, list json.RawMessage) error {
	switch strictjson.KindOf(list) {
	case strictjson.Null:
		return nil // an empty list, as some languages write it
	case strictjson.Array:
	default:
		return malformed(kind, "has "+article(strictjson.KindOf(list))+" for its "+kind.member)
	}
	for raw := range strictjson.Elements(list) {
		if c.total++; c.total > MaxCatalogEntries {
			return catalogLimit(kind, registry.Limit{Name: "catalog entries", Count: MaxCatalogEntries})
		}
		c.add(kind, raw)
	}
	return nil
}

func (c *catalog) add(kind listKind, raw json.RawMessage) {
	name := ""
	for m := range strictjson.Members(raw) {
		if string(m.Key) == kind.key {
			name, _ = text(m.Value)
		}
	}
	if name == "" {
		return
	}
	if e := c.entries[name]; e != nil {
		e.count++
		return
	}
	e := &entry{raw: raw, count: 1}
	if pointer, twice := strictjson.DuplicateKey(raw); twice {
		e.problem = fmt.Sprintf("%s stands twice in its definition", pointer)
	}
	c.entries[name] = e
	c.names = append(c.names, name)
}

// decodeTool reads a definition, or says what is wrong with it.
func decodeTool(raw json.RawMessage) (*mcp.Tool, error) {
	t := new(mcp.Tool)
	if err := json.Unmarshal(raw, t); err != nil {
		return nil, err
	}
	if _, ok := t.InputSchema.(map[string]any); !ok {
		return nil, fmt.Errorf("its inputSchema is no object")
	}
	return t, nil
}

// tool returns the definition of one tool: advertised once, and well-formed.
func (c *catalog) tool(name string) (*entry, *registry.Error) {
	e := c.entries[name]
	if e == nil {
		return nil, failure(registry.KindToolMissing, registry.NotSent, "the server does not advertise this tool")
	}
	if e.count > 1 {
		return nil, failure(registry.KindToolMissing, registry.NotSent, "the server advertises %d tools of this name", e.count)
	}
	if e.problem == "" && !e.read {
		e.read = true
		if _, err := decodeTool(e.raw); err != nil {
			e.problem = "it can't be read"
		} else if e.bound, err = bindings(e.raw); err != nil {
			e.problem = err.Error()
		}
	}
	if e.problem != "" {
		return nil, failure(registry.KindToolMissing, registry.NotSent, "the server's definition of this tool is malformed: %s", e.problem)
	}
	return e, nil
}
