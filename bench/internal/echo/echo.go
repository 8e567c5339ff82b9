// Package echo holds the messages that every contestant exchanges, and what proves an
// answer right. A request asks for a text, and the answer must bring back that text.
package echo

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Params are the parameters of an echo, and its result.
type Params struct {
	Text string `json:"text"`
}

// Size asks the tool "big" for a text.
type Size struct {
	Size int `json:"size"`
}

// Text returns n bytes that need no escape in JSON.
func Text(n int) string {
	const line = "0123456789abcdefghi "
	return strings.Repeat(line, n/len(line)+1)[:n]
}

// Request builds the request with this id.
type Request func(id int) []byte

// ByName sends the parameters as an object.
func ByName(method, text string) Request {
	return func(id int) []byte {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"text":%q}}`, id, method, text)
	}
}

// ByPosition sends the parameters as an array with one object in it.
func ByPosition(method, text string) Request {
	return func(id int) []byte {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":[{"text":%q}]}`, id, method, text)
	}
}

// ToolCall sends a tools/call of MCP.
func ToolCall(text string) Request {
	return func(id int) []byte {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":%q}}}`, id, text)
	}
}

// Verify judges a whole reply.
type Verify func(reply []byte) error

// Result wants the text as the result's member.
func Result(text string) Verify {
	return func(reply []byte) error {
		var r struct{ Result Params }
		if err := json.Unmarshal(reply, &r); err != nil {
			return err
		}
		return Same(r.Result.Text, text, reply)
	}
}

// ToolResult wants the text as the first content of a CallToolResult.
func ToolResult(text string) Verify {
	return func(reply []byte) error {
		var r struct{ Result Content }
		if err := json.Unmarshal(reply, &r); err != nil {
			return err
		}
		return Same(r.Result.Text(), text, reply)
	}
}

// Content is what a CallToolResult holds of interest here.
type Content struct {
	IsError bool
	Content []Params
}

// Text returns the only text.
func (c Content) Text() string {
	if c.IsError || len(c.Content) != 1 {
		return ""
	}
	return c.Content[0].Text
}

// Same compares what came back with what was sent.
func Same(got, want string, reply []byte) error {
	if got == want {
		return nil
	}
	return fmt.Errorf("the echo brought back %d bytes instead of %d: %.200q", len(got), len(want), reply)
}
