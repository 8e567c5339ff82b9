// Package mcpraw is a trivial MCP server, written by hand on encoding/json. It trusts its
// peer and has two tools: echo returns its text, and big a text of the size that it is
// asked for. It links nothing else, so that a child made of it starts fast.
package mcpraw

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"

	"github.com/cupule/cupule/bench/internal/echo"
)

// Protocol is the revision that the trivial server speaks.
const Protocol = "2025-11-25"

const (
	initialized = `{"protocolVersion":"` + Protocol + `","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`
	tools       = `{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}},` +
		`{"name":"big","inputSchema":{"type":"object","properties":{"size":{"type":"integer"}},"required":["size"]}}]}`
)

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string `json:"name"`
		Arguments struct {
			Text json.RawMessage `json:"text"`
			Size int             `json:"size"`
		} `json:"arguments"`
	} `json:"params"`
}

// Serve answers until the end of input.
func Serve(in io.Reader, out io.Writer) error {
	r := bufio.NewReaderSize(in, 1<<20)
	w := bufio.NewWriterSize(out, 256<<10)
	for {
		line, err := r.ReadSlice('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := Answer(w, line); err != nil {
			return err
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
}

// Answer writes the reply to one message, and nothing to a notification.
func Answer(w *bufio.Writer, message []byte) error {
	var r request
	if err := json.Unmarshal(message, &r); err != nil {
		return err
	}
	if r.ID == nil {
		return nil
	}
	write(w, `{"jsonrpc":"2.0","id":`, string(r.ID))
	switch r.Method {
	case "initialize":
		write(w, `,"result":`, initialized)
	case "tools/list":
		write(w, `,"result":`, tools)
	case "tools/call":
		write(w, `,"result":{"content":[{"type":"text","text":`)
		r.content(w)
		write(w, `}]}`)
	default:
		write(w, `,"error":{"code":-32601,"message":"method not found"}`)
	}
	write(w, "}\n")
	return nil
}

// content streams the text, so that the cost of a large result is its reader's.
func (r *request) content(w *bufio.Writer) {
	if r.Params.Name == "echo" {
		_, _ = w.Write(r.Params.Arguments.Text)
		return
	}
	_ = w.WriteByte('"')
	piece := []byte(echo.Text(min(r.Params.Arguments.Size, 20*3200)))
	for left := r.Params.Arguments.Size; left > 0; left -= len(piece) {
		_, _ = w.Write(piece[:min(left, len(piece))])
	}
	_ = w.WriteByte('"')
}

func write(w *bufio.Writer, parts ...string) {
	for _, p := range parts {
		_, _ = w.WriteString(p)
	}
}

// Reply returns the reply to one message; nil to a notification.
func Reply(message []byte) ([]byte, error) {
	var out bytes.Buffer
	w := bufio.NewWriter(&out)
	if err := Answer(w, message); err != nil {
		return nil, err
	}
	err := w.Flush()
	return out.Bytes(), err
}
