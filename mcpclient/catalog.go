package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

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
	// count is how often the name stands in the list; only one is usable.
	count int
	// problem says why the entry is malformed; empty where it is not.
	problem string
	bound   []binding       // the parameters of a tool that HTTP repeats in headers
	raw     json.RawMessage // its definition, where that is wanted
}

// catalog is one complete list, as far as it is wanted: the rest of it is not kept.
type catalog struct {
	listKind
	wanted  func(name string) bool
	whole   bool // definitions are wanted too
	entries map[string]*entry
	names   []string // in the order of the list
	total   int      // entries of any kind, those that are not wanted included
}

func newCatalog(kind listKind, whole bool, wanted func(name string) bool) *catalog {
	return &catalog{listKind: kind, wanted: wanted, whole: whole, entries: make(map[string]*entry)}
}

// index returns the catalog without definitions.
func (c *catalog) index() *catalog {
	lean := *c
	lean.whole, lean.entries = false, make(map[string]*entry, len(c.entries))
	for name, e := range c.entries {
		lean.entries[name] = &entry{count: e.count, problem: e.problem, bound: e.bound}
	}
	return &lean
}

// list reads a complete list into c, within the bounds of a catalog.
func (l *link) list(ctx context.Context, c *catalog) error {
	seen := map[string]bool{}
	left := MaxCatalogBytes
	for cursor, pages := "", 1; ; pages++ {
		if pages > MaxCatalogPages {
			return catalogLimit(c.listKind, registry.Limit{Name: "catalog pages", Count: MaxCatalogPages})
		}
		size, next, err := l.readPage(ctx, c, page(c.listKind, cursor, left))
		if err != nil || next == "" {
			return err
		}
		if seen[next] {
			return failure(registry.KindUpstreamError, registry.NotSent, "the server's %s repeats a cursor", c.method)
		}
		seen[next] = true
		cursor = next
		left -= size
	}
}

// readPage reads one page into c. What isn't wanted of it is forgotten before a place for it
// is given back.
func (l *link) readPage(ctx context.Context, c *catalog, r *request) (size int, next string, err error) {
	r.place = l.server.place(ctx)
	defer r.place.done()
	raw, err := l.do(ctx, r)
	if err != nil {
		return 0, "", err
	}
	next, err = c.take(raw)
	return len(raw), next, err
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

// maxCursor bounds what a server may call the next page.
const maxCursor = 4 << 10

// take adds the entries of a page, and returns the cursor of the next one.
func (c *catalog) take(raw json.RawMessage) (cursor string, err error) {
	found := false
	for m := range strictjson.Members(raw) {
		switch string(m.Key) {
		case c.member:
			found = true
			if err := c.page(m.Value); err != nil {
				return "", err
			}
		case "nextCursor":
			if len(m.Value) > maxCursor {
				return "", c.malformed(fmt.Sprintf("has a cursor of more than %d bytes", maxCursor))
			}
			cursor, _ = text(m.Value)
		}
	}
	if !found {
		return "", c.malformed("has no " + c.member)
	}
	return cursor, nil
}

func (c *catalog) malformed(what string) error {
	return failure(registry.KindUpstreamError, registry.NotSent, "the server's answer to %s %s", c.method, what)
}

func (c *catalog) page(list json.RawMessage) error {
	switch strictjson.KindOf(list) {
	case strictjson.Null:
		return nil // an empty list, as some languages write it
	case strictjson.Array:
	default:
		return c.malformed("has " + article(strictjson.KindOf(list)) + " for its " + c.member)
	}
	for raw := range strictjson.Elements(list) {
		if c.total++; c.total > MaxCatalogEntries {
			return catalogLimit(c.listKind, registry.Limit{Name: "catalog entries", Count: MaxCatalogEntries})
		}
		c.add(raw)
	}
	return nil
}

func (c *catalog) add(raw json.RawMessage) {
	name := ""
	for m := range strictjson.Members(raw) {
		if string(m.Key) == c.key && len(m.Value) <= MaxDefinition {
			name, _ = text(m.Value)
		}
	}
	if name == "" || !c.wanted(name) {
		return
	}
	if e := c.entries[name]; e != nil {
		e.count++
		return
	}
	e := &entry{count: 1}
	e.bound, e.problem = c.judge(raw)
	if c.whole && e.problem == "" {
		e.raw = bytes.Clone(raw)
	}
	c.entries[name] = e
	c.names = append(c.names, name)
}

// judge says what is wrong with a definition, and which parameters it binds to headers.
func (c *catalog) judge(raw json.RawMessage) (bound []binding, problem string) {
	if len(raw) > MaxDefinition {
		return nil, fmt.Sprintf("it has more than %d bytes", MaxDefinition)
	}
	if pointer, twice := strictjson.DuplicateKey(raw); twice {
		return nil, fmt.Sprintf("%.80s stands twice in its definition", pointer)
	}
	if json.Unmarshal(raw, new(form)) != nil {
		return nil, "it can't be read"
	}
	if c.listKind != toolList {
		return nil, ""
	}
	if strictjson.KindOf(memberOf(raw, "inputSchema")) != strictjson.Object {
		return nil, "its inputSchema is no object"
	}
	bound, err := bindings(raw)
	if err != nil {
		return nil, err.Error()
	}
	return bound, ""
}

// form is what the types of a definition's members are checked with. Members of any type are
// not decoded: that takes many times their size.
type form struct {
	Name, Title, Description   string
	URI, URITemplate, MIMEType string
	Size                       int64
	Arguments                  []struct {
		Name, Title, Description string
		Required                 bool
	}
	Annotations struct {
		Title                          string
		ReadOnlyHint, IdempotentHint   bool
		DestructiveHint, OpenWorldHint *bool
		Audience                       []string
		Priority                       float64
		LastModified                   string
	}
}

// tool returns what is known of one tool: advertised once, and well-formed.
func (c *catalog) tool(name string) (*entry, *registry.Error) {
	e := c.entries[name]
	switch {
	case e == nil:
		return nil, failure(registry.KindToolMissing, registry.NotSent, "the server does not advertise this tool")
	case e.count > 1:
		return nil, failure(registry.KindToolMissing, registry.NotSent, "the server advertises %d tools of this name", e.count)
	case e.problem != "":
		return nil, failure(registry.KindToolMissing, registry.NotSent, "the server's definition of this tool is malformed: %s", e.problem)
	}
	return e, nil
}
