package mcptest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// listing is one page of a list.
type listing struct {
	key     string
	entries []json.RawMessage // nil is null
	cursor  string
	later   bool // not the first page
}

// follow lets another page follow, for ever. The first holds the whole list, so that the
// others repeat nothing.
func (l *listing) follow(cursor string) {
	l.cursor = cursor
	if l.later {
		l.entries = []json.RawMessage{}
	}
}

func (l *listing) encode() string {
	entries := "null"
	if l.entries != nil {
		entries = string(encode(l.entries))
	}
	text := `{"` + l.key + `":` + entries
	if l.cursor != "" {
		text += `,"nextCursor":` + string(encode(l.cursor))
	}
	return text + "}"
}

type offered interface{ definition() json.RawMessage }

func listOf[T offered](t *turn, key string, all []T) {
	var params struct{ Cursor string }
	_ = json.Unmarshal(t.msg.Params, &params)
	from, _ := strconv.Atoi(strings.TrimPrefix(params.Cursor, "from-"))
	from = min(max(from, 0), len(all))
	to := len(all)
	if size := t.script.PageSize; size > 0 {
		to = min(to, from+size)
	}
	t.list = &listing{key: key, entries: []json.RawMessage{}, later: params.Cursor != ""}
	for _, entry := range all[from:to] {
		t.list.entries = append(t.list.entries, entry.definition())
	}
	if to < len(all) {
		t.list.cursor = fmt.Sprintf("from-%d", to)
	}
}

func (t Tool) definition() json.RawMessage {
	if t.Definition != nil {
		return t.Definition
	}
	d := map[string]any{"name": t.Name, "inputSchema": json.RawMessage(`{"type":"object"}`)}
	for key, value := range map[string]json.RawMessage{
		"inputSchema": t.InputSchema, "outputSchema": t.OutputSchema, "annotations": t.Annotations,
	} {
		if value != nil {
			d[key] = value
		}
	}
	if t.Description != "" {
		d["description"] = t.Description
	}
	return encode(d)
}

func (r Resource) definition() json.RawMessage {
	return encode(map[string]any{"uri": r.URI, "name": r.Name, "mimeType": orElse(r.MIME, "text/plain")})
}

func (t Template) definition() json.RawMessage {
	return encode(map[string]any{"uriTemplate": t.URITemplate, "name": t.Name, "mimeType": orElse(t.MIME, "text/plain")})
}

func (p Prompt) definition() json.RawMessage {
	type argument struct {
		Name string `json:"name"`
	}
	arguments := []argument{}
	for _, name := range p.Arguments {
		arguments = append(arguments, argument{name})
	}
	return encode(map[string]any{"name": p.Name, "description": p.Description, "arguments": arguments})
}

func (r Resource) contents(uri string) map[string]any {
	c := map[string]any{"uri": uri, "mimeType": orElse(r.MIME, "text/plain")}
	if r.Blob != nil {
		c["blob"] = r.Blob
	} else {
		c["text"] = r.Text
	}
	return c
}

func (t *turn) read() {
	uri := t.msg.name()
	for _, r := range t.script.Resources {
		if r.URI == uri {
			t.contents(r, uri)
			return
		}
	}
	for _, family := range t.script.Templates {
		prefix, _, _ := strings.Cut(family.URITemplate, "{")
		if strings.HasPrefix(uri, prefix) {
			t.contents(Resource{MIME: family.MIME, Text: family.Text}, uri)
			return
		}
	}
	t.refuse(-32002, "unknown resource "+uri)
}

func (t *turn) contents(r Resource, uri string) {
	t.result(string(encode(map[string]any{"contents": []any{r.contents(uri)}})))
}

func (t *turn) prompt() {
	for _, p := range t.script.Prompts {
		if p.Name == t.msg.name() {
			t.result(string(encode(map[string]any{"description": p.Description, "messages": t.messages(p)})))
			return
		}
	}
	t.refuse(-32602, "unknown prompt "+t.msg.name())
}

func (t *turn) messages(p Prompt) []any {
	contents := p.Messages
	if contents == nil {
		contents = []json.RawMessage{TextContent(string(t.arguments()))}
	}
	list := []any{}
	for _, c := range contents {
		list = append(list, map[string]any{"role": "user", "content": c})
	}
	return list
}
