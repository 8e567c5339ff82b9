package mcpclient

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cupule/cupule/internal/strictjson"
	"github.com/cupule/cupule/registry"
)

// Result is what a tool answered with.
type Result struct {
	// Raw is the result byte for byte as the server sent it: a JSON object, in which
	// large integers, the order of keys and unknown content are as they were.
	Raw json.RawMessage
	// IsError says that the tool reports an error of its own. The call as such went well.
	IsError bool
}

// Typed decodes the result. Numbers in structured content are float64 then.
func (r *Result) Typed() (*mcp.CallToolResult, error) {
	t := new(mcp.CallToolResult)
	if err := json.Unmarshal(r.Raw, t); err != nil {
		return nil, fmt.Errorf("the tool's result can't be read: %w", err)
	}
	return t, nil
}

// newResult judges the result of a tools/call.
func newResult(raw json.RawMessage, s shape) (*Result, error) {
	switch {
	case s.asks && s.content == 0:
		return nil, asksForInput()
	case s.isError != 0 && s.isError != 't' && s.isError != 'f':
		return nil, failure(registry.KindUpstreamError, registry.Completed, "the tool's result has an isError that is no boolean")
	case s.content == 0 && s.structured == 0:
		// The protocol requires content. Servers that leave it out have structured content.
		return nil, failure(registry.KindUpstreamError, registry.Completed, "the tool's result has neither content nor structuredContent")
	case s.content != 0 && s.content != '[':
		return nil, failure(registry.KindUpstreamError, registry.Completed, "the tool's result has a content that is no array")
	}
	return &Result{Raw: raw, IsError: s.isError == 't'}, nil
}

// maxArgumentDepth is the deepest nesting of arguments.
const maxArgumentDepth = 128

// checkArguments returns the arguments of a call as one JSON object.
func checkArguments(args json.RawMessage) (json.RawMessage, error) {
	args = bytes.TrimSpace(args)
	if len(args) == 0 {
		return json.RawMessage("{}"), nil
	}
	if err := strictjson.Valid(args, maxArgumentDepth); err != nil {
		return nil, badArguments("", "want valid JSON: "+err.Error())
	}
	if kind := strictjson.KindOf(args); kind != strictjson.Object {
		return nil, badArguments("", "want an object, not "+article(kind))
	}
	if at, twice := strictjson.DuplicateKey(args); twice {
		return nil, badArguments(at, "this key stands twice in its object")
	}
	return args, nil
}

func badArguments(path, message string) error {
	e := failure(registry.KindInvalidParams, registry.NotSent, "the arguments are invalid: %s", message)
	e.Problems = []registry.ParamProblem{{Path: path, Message: message}}
	return e
}
