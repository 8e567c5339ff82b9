package servers

import (
	"context"
	"errors"
	"net"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cupule/cupule/bench/internal/clients"
	"github.com/cupule/cupule/bench/internal/echo"
	"github.com/cupule/cupule/bench/internal/mcpsdk"
)

// Gateways before an MCP child.
const (
	CupuleGateway = "cupule, session: shared"
	CupuleDefault = "cupule, a session for each call"
	SDKProxy      = "go-sdk server and client"
)

// Gateways returns those that pass calls to the child of their place.
func Gateways() []Server {
	operation := func(text string) echo.Request { return echo.ByName(operationOfTool, text) }
	return []Server{
		{Name: CupuleGateway, Request: operation, Verify: echo.ToolResult, Serve: serveGateway(clients.SharedConfiguration)},
		{Name: CupuleDefault, Request: operation, Verify: echo.ToolResult, Serve: serveGateway(eachCall)},
		{Name: SDKProxy, Greets: true, Request: echo.ToolCall, Verify: echo.ToolResult, Serve: serveProxy},
	}
}

// eachCall is the configuration for a session of each call's own.
func eachCall(t clients.Target) string { return clients.Configuration(t, "") }

// serveProxy is a go-sdk server on each connection, and one go-sdk client to the child.
func serveProxy(at Place) (func() error, error) {
	ctx, cancel := context.WithCancel(context.Background())
	behind, err := mcp.NewClient(&mcp.Implementation{Name: "proxy", Version: "1"}, nil).
		Connect(ctx, &mcp.CommandTransport{Command: exec.Command(at.Child)}, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	proxy, err := mcpsdk.Proxy(ctx, behind)
	if err != nil {
		cancel()
		return nil, errors.Join(err, behind.Close())
	}
	stop, err := onUnix(func(conn net.Conn) { _ = proxy.Run(ctx, &mcp.IOTransport{Reader: conn, Writer: conn}) })(at)
	if err != nil {
		cancel()
		return nil, errors.Join(err, behind.Close())
	}
	return func() error {
		cancel()
		return errors.Join(stop(), behind.Close())
	}, nil
}
