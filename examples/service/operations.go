package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/mcpclient"
	"github.com/cupule/cupule/registry"
	"github.com/sourcegraph/jsonrpc2"
)

// operations returns the operations that are written in Go.
func operations(client *mcpclient.Client) ([]registry.Operation, error) {
	return []registry.Operation{
		registry.Typed(registry.Operation{
			Name: "text.count", Description: "Count the words of a text",
		}, count),
		registry.Typed(registry.Operation{
			Name: "identifier.cite", Description: "Resolve an identifier and cite it in one line",
			Effects: effects.NewSet(effects.NetworkRead), MaxOutput: 2000,
		}, citer{client}.cite),
	}, nil
}

type text struct {
	Text string `json:"text"`
}

func count(_ context.Context, _ *registry.Call, t text) (int, error) {
	return len(strings.Fields(t.Text)), nil
}

type citer struct{ client *mcpclient.Client }

type identifier struct {
	Identifier string `json:"identifier"`
}

type citation struct {
	Citation string `json:"citation"`
}

// errNothing is an error of this service's own; it reaches the caller as it is.
var errNothing = &jsonrpc2.Error{Code: 404, Message: "nothing is known under this identifier"}

// cite calls a tool with the authority of its own call, and condenses the result.
func (c citer) cite(ctx context.Context, call *registry.Call, id identifier) (citation, error) {
	arguments, err := json.Marshal(id)
	if err != nil {
		return citation{}, err
	}
	result, err := c.client.CallTool(ctx, "research-tools", "resolve_identifier", arguments, call.Invocation())
	if err != nil {
		return citation{}, err
	}
	if result.IsError {
		return citation{}, errNothing
	}
	var answer struct {
		StructuredContent *struct {
			Title   string
			Authors []string
			Year    int
		}
	}
	if err := json.Unmarshal(result.Raw, &answer); err != nil {
		return citation{}, err
	}
	work := answer.StructuredContent
	if work == nil {
		return citation{}, errors.New("the tool gave no structured content")
	}
	return citation{fmt.Sprintf("%s: %s (%d)", strings.Join(work.Authors, ", "), work.Title, work.Year)}, nil
}
