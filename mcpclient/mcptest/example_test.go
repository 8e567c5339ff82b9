package mcptest_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cupule/cupule/mcpclient/mcptest"
)

// search stands for the code under test.
func search(ctx context.Context, path string, args []string) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "search", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: exec.Command(path, args...)}, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	_, err = session.CallTool(ctx, &mcp.CallToolParams{Name: "echo"})
	return err
}

func TestSearchOfAServerThatCrashes(t *testing.T) {
	script := mcptest.Good().With(mcptest.Fault{At: mcptest.CallTool, Do: mcptest.CrashAmid})
	script.Record = filepath.Join(t.TempDir(), "record")
	path, args := script.Command()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := search(ctx, path, args); err == nil {
		t.Error("half an answer was taken for one")
	}
	record, err := mcptest.ReadRecord(script.Record)
	if n := record.Count("tools/call"); n != 1 || err != nil {
		t.Errorf("the tool was called %d times, %v", n, err)
	}
}
