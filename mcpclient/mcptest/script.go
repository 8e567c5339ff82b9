package mcptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// Lifetime is how long a child lives at most, whatever its client does, unless its Script says otherwise.
const Lifetime = 5 * time.Minute

// Generation is what a server speaks.
type Generation string

// The generations of the protocol.
const (
	// Both answers server/discover and initialize. It is the default.
	Both Generation = ""
	// Legacy knows initialize alone, up to 2025-11-25.
	Legacy Generation = "legacy"
	// Modern knows server/discover and metadata on each request alone: 2026-07-28.
	Modern Generation = "modern"
)

// Script is a server: what it offers, and what it does wrong. It is plain data, and JSON in
// the arguments of a child. The zero Script is a well-behaved server that offers nothing.
type Script struct {
	// Name and Version are the server's own; "mcptest" and "1" when empty.
	Name         string     `json:"name,omitempty"`
	Version      string     `json:"version,omitempty"`
	Instructions string     `json:"instructions,omitempty"`
	Speaks       Generation `json:"speaks,omitempty"`
	// Capabilities replaces what follows from the lists below.
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	Tools        []Tool          `json:"tools,omitempty"`
	Resources    []Resource      `json:"resources,omitempty"`
	Templates    []Template      `json:"templates,omitempty"`
	Prompts      []Prompt        `json:"prompts,omitempty"`
	// PageSize is how many entries one page of a list has; zero means all.
	PageSize int `json:"pageSize,omitempty"`
	// Stateless gives out no session ids over HTTP.
	Stateless bool `json:"stateless,omitempty"`
	// Events answers over HTTP with a stream of events instead of a JSON body.
	Events bool `json:"events,omitempty"`
	// Faults are what the server does wrong.
	Faults []Fault `json:"faults,omitempty"`
	// Record is the file to which a child appends what it received; none when empty.
	Record string `json:"record,omitempty"`
	// Life ends a child by itself; Lifetime when zero.
	Life time.Duration `json:"life,omitempty"`
}

// Tool is a tool. Its result is, in this order: Error, Result, Text, Size bytes of text,
// or its arguments back, as text and as structured content.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// InputSchema is {"type":"object"} when empty.
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  json.RawMessage `json:"annotations,omitempty"`
	// Definition replaces the whole entry in the list.
	Definition json.RawMessage `json:"definition,omitempty"`
	// Error is a JSON-RPC error object.
	Error json.RawMessage `json:"error,omitempty"`
	// Result is a whole result object, sent without its white space; in the 2026-07-28
	// revision, resultType and _meta are put in front where it has none.
	Result  json.RawMessage `json:"result,omitempty"`
	Text    string          `json:"text,omitempty"`
	Size    int             `json:"size,omitempty"`
	IsError bool            `json:"isError,omitempty"`
	// Delay is how long a call takes. A cancelled call is never answered.
	Delay time.Duration `json:"delay,omitempty"`
}

// Resource is a resource of text or bytes.
type Resource struct {
	URI  string `json:"uri"`
	Name string `json:"name"`
	MIME string `json:"mime,omitempty"`
	Text string `json:"text,omitempty"`
	// Blob makes it a resource of bytes.
	Blob []byte `json:"blob,omitempty"`
}

// Template is a family of resources, which all hold the same text. Every URI that begins
// as URITemplate does, up to its first brace, is one of them.
type Template struct {
	URITemplate string `json:"uriTemplate"`
	Name        string `json:"name"`
	MIME        string `json:"mime,omitempty"`
	Text        string `json:"text,omitempty"`
}

// Prompt is a prompt.
type Prompt struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Arguments   []string `json:"arguments,omitempty"`
	// Messages are the contents of the messages, see TextContent and its like; without any,
	// the arguments are given back as text.
	Messages []json.RawMessage `json:"messages,omitempty"`
}

// TextContent is a content of text.
func TextContent(text string) json.RawMessage {
	return encode(map[string]any{"type": "text", "text": text})
}

// ImageContent is a content that is an image.
func ImageContent(mime string, data []byte) json.RawMessage {
	return encode(map[string]any{"type": "image", "mimeType": mime, "data": data})
}

// EmbeddedContent is a content that holds a resource.
func EmbeddedContent(r Resource) json.RawMessage {
	return encode(map[string]any{"type": "resource", "resource": r.contents(r.URI)})
}

// Good returns a well-behaved server with a tool "echo", and with resources and prompts of
// every kind. Add faults to the returned Script.
func Good() Script {
	logo := []byte("\x89PNG\r\n\x1a\n")
	return Script{
		Tools: []Tool{{Name: "echo", Description: "Give the arguments back"}},
		Resources: []Resource{
			{URI: "docs://readme", Name: "readme", MIME: "text/plain", Text: "read me"},
			{URI: "docs://logo", Name: "logo", MIME: "image/png", Blob: logo},
		},
		Templates: []Template{{URITemplate: "docs://pages/{page}", Name: "page", MIME: "text/plain", Text: "a page"}},
		Prompts: []Prompt{
			{Name: "repeat", Arguments: []string{"text"}},
			{Name: "show", Messages: []json.RawMessage{
				TextContent("look"), ImageContent("image/png", logo), EmbeddedContent(Resource{URI: "docs://readme", Text: "read me"}),
			}},
		},
	}
}

// With returns the script with more faults.
func (s Script) With(faults ...Fault) Script {
	s.Faults = append(s.Faults[:len(s.Faults):len(s.Faults)], faults...)
	return s
}

// check reports the first fault that can't happen on this medium.
func (s *Script) check(m media) error {
	for i, f := range s.Faults {
		b, ok := behaviours[f.Do]
		switch {
		case !ok:
			return fmt.Errorf("mcptest: fault %d: there is no behaviour %q", i, f.Do)
		case b.media&m == 0:
			return fmt.Errorf("mcptest: fault %d: %q can't happen over %s", i, f.Do, m)
		case f.At == "":
			return fmt.Errorf("mcptest: fault %d: %q happens at no step: set At", i, f.Do)
		}
	}
	return nil
}

// encode is for what always encodes.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
