package clients

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"

	mcpgo "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mcpgotypes "github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cupule/cupule/bench/internal/stdio"
)

func openSDK(t Target) (func() error, func() error, error) {
	s, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(context.Background(), sdkTransport(t), nil)
	if err != nil {
		return nil, nil, err
	}
	if _, err := s.ListTools(context.Background(), nil); err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	name, args, want := t.tool()
	call := func() error {
		r, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: args})
		if err != nil {
			return err
		}
		return checkSDK(r, want)
	}
	return call, s.Close, nil
}

func checkSDK(r *mcp.CallToolResult, want string) error {
	if r.IsError || len(r.Content) != 1 {
		return fmt.Errorf("the tool failed: %v", r)
	}
	text, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		return fmt.Errorf("no text but %T", r.Content[0])
	}
	return checkText(text.Text, want)
}

func sdkTransport(t Target) mcp.Transport {
	if t.URL != "" {
		return &mcp.StreamableClientTransport{Endpoint: t.URL, DisableStandaloneSSE: true, HTTPClient: wideClient()}
	}
	if t.Size == 0 {
		return &mcp.CommandTransport{Command: exec.Command(t.Child)}
	}
	return uncapped(t.Child)
}

// uncapped is the transport to a child without CommandTransport's bound of 16 MiB a line.
type uncapped string

// Connect starts the child.
func (u uncapped) Connect(ctx context.Context) (mcp.Connection, error) {
	child, err := stdio.Start(string(u))
	if err != nil {
		return nil, err
	}
	return (&mcp.IOTransport{Reader: io.NopCloser(child), Writer: child, MaxLineLength: -1}).Connect(ctx)
}

func openMCPGo(t Target) (func() error, func() error, error) {
	c, err := mcpgoClient(t)
	if err != nil {
		return nil, nil, err
	}
	var q mcpgotypes.InitializeRequest
	q.Params.ProtocolVersion = mcpgotypes.LATEST_PROTOCOL_VERSION
	q.Params.ClientInfo = mcpgotypes.Implementation{Name: "bench", Version: "1"}
	_, err = c.Initialize(context.Background(), q)
	if err == nil {
		_, err = c.ListTools(context.Background(), mcpgotypes.ListToolsRequest{})
	}
	if err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	return mcpgoCall(c, t), c.Close, nil
}

func mcpgoClient(t Target) (*mcpgo.Client, error) {
	var way transport.Interface = transport.NewStdioWithOptions(t.Child, nil, nil)
	if t.URL != "" {
		var err error
		if way, err = transport.NewStreamableHTTP(t.URL, transport.WithHTTPBasicClient(wideClient())); err != nil {
			return nil, err
		}
	}
	c := mcpgo.NewClient(way)
	return c, c.Start(context.Background())
}

func mcpgoCall(c *mcpgo.Client, t Target) func() error {
	name, args, want := t.tool()
	return func() error {
		var q mcpgotypes.CallToolRequest
		q.Params.Name, q.Params.Arguments = name, args
		r, err := c.CallTool(context.Background(), q)
		if err != nil {
			return err
		}
		if r.IsError || len(r.Content) != 1 {
			return fmt.Errorf("the tool failed: %v", r)
		}
		text, ok := r.Content[0].(mcpgotypes.TextContent)
		if !ok {
			return fmt.Errorf("no text but %T", r.Content[0])
		}
		return checkText(text.Text, want)
	}
}
