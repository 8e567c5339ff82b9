// Command research-tools is a small MCP server for the examples. It speaks over stdin and
// stdout, needs no network and answers from what is built into it.
package main

import (
	"context"
	"flag"
	"log"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	notes := flag.String("notes", "notes.txt", "the file that annotate appends to")
	flag.Parse()
	log.SetFlags(0)
	log.SetOutput(os.Stderr)
	server := newServer(*notes)
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}

func newServer(notes string) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "research-tools", Version: "1.0.0"}, nil)
	no := false
	mcp.AddTool(server, &mcp.Tool{
		Name: "resolve_identifier", Description: "Resolve a DOI, arXiv or ISBN identifier to its metadata",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, resolve)
	mcp.AddTool(server, &mcp.Tool{
		Name: "annotate", Description: "Append a line to the notes file",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &no},
	}, annotator{notes}.annotate)
	mcp.AddTool(server, &mcp.Tool{
		Name: "summarise", Description: "Summarise a text in one sentence",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, summarise)
	mcp.AddTool(server, &mcp.Tool{
		Name: "slow", Description: "Count to a number, reporting progress at each step",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, slow)
	return server
}
