// child-raw is a trivial MCP server on standard input and output, written by hand.
package main

import (
	"log"
	"os"

	"github.com/cupule/cupule/bench/internal/mcpraw"
)

func main() {
	if err := mcpraw.Serve(os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}
