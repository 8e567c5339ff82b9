package servers

import (
	"io"
	"net/http"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cupule/cupule/bench/internal/mcpraw"
	"github.com/cupule/cupule/bench/internal/mcpsdk"
)

// MCP servers over HTTP, at the path /mcp.
const (
	RawMCP = "trivial MCP server over HTTP"
	SDKMCP = "go-sdk MCP server over HTTP"
)

// upstreams are what MCP clients call over HTTP.
func upstreams() []Server {
	return []Server{
		{Name: RawMCP, HTTP: true, Serve: func(at Place) (func() error, error) { return serveHTTP(at, http.HandlerFunc(rawMCP)) }},
		{Name: SDKMCP, HTTP: true, Serve: func(at Place) (func() error, error) { return serveHTTP(at, sdkMCP()) }},
	}
}

func rawMCP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		body, err = mcpraw.Reply(body)
	}
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	case body == nil:
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
	}
}

// sdkMCP answers with JSON and keeps no sessions, the fastest that go-sdk offers.
func sdkMCP() http.Handler {
	s := mcpsdk.Server()
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
}
