// Package mcpsdk holds what is built on go-sdk to be measured: an MCP server with the
// tools echo and big, and the proxy that a team would write in an afternoon.
package mcpsdk

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cupule/cupule/bench/internal/echo"
)

// Server returns an MCP server with typed tools as its documentation shows them.
func Server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in echo.Params) (*mcp.CallToolResult, any, error) {
		return text(in.Text), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "big"}, func(_ context.Context, _ *mcp.CallToolRequest, in echo.Size) (*mcp.CallToolResult, any, error) {
		return text(echo.Text(in.Size)), nil, nil
	})
	return s
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// Proxy offers every tool of the session behind it, and forwards each call.
func Proxy(ctx context.Context, behind *mcp.ClientSession) (*mcp.Server, error) {
	s := mcp.NewServer(&mcp.Implementation{Name: "proxy", Version: "1"}, nil)
	for tool, err := range behind.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		s.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return behind.CallTool(ctx, &mcp.CallToolParams{Name: r.Params.Name, Arguments: json.RawMessage(r.Params.Arguments)})
		})
	}
	return s, nil
}
