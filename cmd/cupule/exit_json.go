package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cupule/cupule/jsonrpcserver"
	"github.com/cupule/cupule/registry"
	"github.com/sourcegraph/jsonrpc2"
)

// The kinds of what went wrong before or after a call.
var exitKinds = map[int]string{exitReported: "tool_error", exitUsage: "usage", exitCut: string(registry.KindCancelled)}

// sayJSON writes what went wrong as one line, {"error": {"code", "message", "data"}}, to
// where a person would read it. A failed call has the code and data of JSON-RPC; what is no
// call has no code, and its data holds a kind, and the problems of a configuration.
func (c *cli) sayJSON(exit int, err error) {
	text, failed := json.Marshal(map[string]any{"error": wireForm(exit, err)})
	if failed != nil {
		text = []byte(`{"error":{"message":"the error can't be written as JSON","data":{"kind":"internal"}}}`)
	}
	fmt.Fprintln(c.talk, printable(string(text)))
}

func wireForm(exit int, err error) any {
	if far, ok := errors.AsType[*remoteError](err); ok {
		return far.wire
	}
	if failure, ok := errors.AsType[*registry.Error](err); ok {
		wire := *jsonrpcserver.WireError(failure)
		if _, own := errors.AsType[*jsonrpc2.Error](failure.Err); !own {
			wire.Message = failure.Error() // with its cause, since an operator reads it
		}
		return &wire
	}
	kind, known := exitKinds[exit]
	if !known {
		kind = string(registry.KindInternal)
	}
	type data struct {
		Kind     string    `json:"kind"`
		Problems []finding `json:"problems,omitempty"`
	}
	form := struct {
		Message string `json:"message"`
		Data    data   `json:"data"`
	}{err.Error(), data{Kind: kind}}
	if problems, other := problemsOf(err); other == nil && !ofAnEdit(err) {
		form.Message, form.Data = "the configuration has problems", data{"configuration", problems}
	}
	return form
}
