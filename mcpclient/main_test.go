package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cupule/cupule/mcpclient/mcptest"
)

// The test binary is also the servers that the tests talk to.
const serverVariable = "MCPCLIENT_TEST_SERVER"

func TestMain(m *testing.M) {
	mcptest.Main()
	if task := os.Getenv(burdenVariable); task != "" {
		if err := runBurden(task); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	if kind := os.Getenv(serverVariable); kind != "" {
		if err := runServer(kind); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func runServer(kind string) error {
	switch kind {
	case "sdk":
		return sdkServer().Run(context.Background(), &mcp.StdioTransport{})
	case "watched":
		return watchedServer().Run(context.Background(), &mcp.StdioTransport{})
	case "fat":
		return runFat(os.Getenv("FAT"))
	case "crash":
		return fmt.Errorf("no index: %s", os.Getenv("TOKEN"))
	}
	return fmt.Errorf("no server %q", kind)
}

type echoInput struct {
	Text string `json:"text"`
}

// sdkServer is a real server: its tools are echo, fail and slow.
func sdkServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "7"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in echoInput) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
	})
	s.AddTool(&mcp.Tool{Name: "raw", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "fail"}, func(context.Context, *mcp.CallToolRequest, echoInput) (*mcp.CallToolResult, any, error) {
		return nil, nil, fmt.Errorf("it failed")
	})
	mcp.AddTool(s, &mcp.Tool{Name: "slow"}, func(ctx context.Context, r *mcp.CallToolRequest, _ echoInput) (*mcp.CallToolResult, any, error) {
		if token := r.Params.GetProgressToken(); token != nil {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1, Total: 2, Message: "half"})
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Second):
		}
		return nil, nil, ctx.Err()
	})
	mcp.AddTool(s, &mcp.Tool{Name: "log"}, func(ctx context.Context, r *mcp.CallToolRequest, in echoInput) (*mcp.CallToolResult, any, error) {
		err := r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: in.Text})
		return &mcp.CallToolResult{}, nil, err
	})
	return s
}
