package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cupule/cupule/mcpclient/mcptest"
)

func transportTo(s mcptest.Script) *Transport {
	path, args := s.Command()
	return &Transport{Command: path, Args: args}
}

// TestTransportUnderSDK puts the transport under the go-sdk's client, and calls a tool.
func TestTransportUnderSDK(t *testing.T) {
	for _, row := range []struct {
		name   string
		faults []mcptest.Fault
		max    int
		fails  string
	}{
		{name: "good"},
		{name: "a banner", faults: at(mcptest.Start, mcptest.Banner)},
		{name: "a byte order mark", faults: at(mcptest.Start, mcptest.BOM)},
		{name: "flood", faults: call(mcptest.Flood)},
		{name: "result null", faults: call(mcptest.NullResult), fails: "its result is null"},
		{name: "too large", faults: []mcptest.Fault{{At: mcptest.CallTool, Do: mcptest.HugeResult, Size: 1 << 20}}, max: 1 << 16, fails: "longer than 65536 bytes"},
		{name: "crash", faults: []mcptest.Fault{{At: mcptest.CallTool, Do: mcptest.CrashBefore, Code: 9, Text: "no more disk"}}, fails: "exit status 9"},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := measure()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			transport := transportTo(mcptest.Good().With(row.faults...))
			transport.MaxFrame = row.max
			client := mcp.NewClient(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
			session, err := client.Connect(ctx, transport, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = session.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: json.RawMessage(`{"n":1}`)})
			if (err != nil) != (row.fails != "") || err != nil && !strings.Contains(err.Error(), row.fails) {
				t.Errorf("want %q, got %v", row.fails, err)
			}
			_ = session.Close()
			wantNothingLeft(t, before)
		})
	}
}

// TestTransportAlone uses a connection without any client.
func TestTransportAlone(t *testing.T) {
	before := measure()
	conn, err := transportTo(mcptest.Good().With(call(mcptest.FractionalID)...)).Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, method := range []string{"initialize", "tools/call", "tools/list"} {
		id, _ := jsonrpc.MakeID(float64(i))
		params := json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"},"name":"echo"}`)
		if err := conn.Write(t.Context(), &jsonrpc.Request{ID: id, Method: method, Params: params}); err != nil {
			t.Fatal(err)
		}
		if method == "tools/call" {
			continue
		}
		m, err := conn.Read(t.Context())
		if r, ok := m.(*jsonrpc.Response); err != nil || !ok || r.ID != id {
			t.Fatalf("%v %v", m, err)
		}
		if method == "initialize" {
			_ = conn.Write(t.Context(), &jsonrpc.Request{Method: "notifications/initialized"})
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrNoProgress)
	if _, err := conn.Read(ctx); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("%v", err)
	}
	_, _ = conn.Close(), conn.Close()
	if _, err := conn.Read(t.Context()); !errors.Is(err, io.EOF) || conn.SessionID() != "" {
		t.Errorf("%v", err)
	}
	wantNothingLeft(t, before)
}

func TestTransportThatCantStart(t *testing.T) {
	for _, command := range []string{"no-such-command-anywhere", "/no/such/command"} {
		if _, err := (&Transport{Command: command}).Connect(t.Context()); err == nil {
			t.Errorf("%s was started", command)
		}
	}
}
