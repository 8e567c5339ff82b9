// child-gosdk is an MCP server on standard input and output, built on go-sdk.
package main

import (
	"context"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cupule/cupule/bench/internal/mcpsdk"
)

func main() {
	if err := mcpsdk.Server().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
