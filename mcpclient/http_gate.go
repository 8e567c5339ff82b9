package mcpclient

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
)

// gate is a connection that ends where a server sends more than the response that is due.
// Package http writes such bytes to the process's log, whatever they are; a server could
// put there the very token that it was sent. So they never come to package http: reading
// stops at the end of each response until a request gets the connection.
type gate struct {
	net.Conn
	in   *bufio.Reader
	due  atomic.Bool // a request has the connection, and its response has not ended
	rest []byte      // of a line that the reader had no room for

	part  part
	left  int64 // bytes of the body or chunk
	fixed int64 // the length that the header states, or -1
	chunk bool
	none  bool // the response has no body
	first bool // the next line of the header is the status line
}

// part is what of a response comes next.
type part byte

const (
	inHeader part = iota
	inBody
	inChunkSize
	inChunk
	inTrailer
	inOpen // what ends with the connection, or what is not understood: it is passed on
)

func newGate(c net.Conn) *gate {
	g := &gate{Conn: c, in: bufio.NewReaderSize(c, maxHeaderBytes)}
	g.begin()
	return g
}

// begin expects the header of a response.
func (g *gate) begin() { g.part, g.fixed, g.chunk, g.none, g.first = inHeader, -1, false, false, true }

// opening opens the gate of the connection that a request gets, for one response.
func opening() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if g, ok := info.Conn.(*gate); ok {
			g.due.Store(true)
		}
	}}
}

// Read reads from the response that is due. Where none is, it waits for the connection's
// end, and takes anything else for that.
func (g *gate) Read(p []byte) (int, error) {
	if len(g.rest) > 0 {
		return g.give(p), nil
	}
	if g.part == inOpen || g.part == inBody || g.part == inChunk {
		return g.raw(p)
	}
	if g.part == inHeader && g.first {
		if _, err := g.in.Peek(1); err != nil {
			return 0, err
		}
		if !g.due.Load() {
			return 0, io.EOF
		}
	}
	line, err := g.in.ReadSlice('\n')
	if err != nil {
		g.part = inOpen // an endless line, or the end of the connection
	} else {
		g.take(line)
	}
	g.rest = line
	if len(line) == 0 {
		return 0, err
	}
	return g.give(p), nil
}

// give hands out what is left of a line. It is used up before the buffer is read again.
func (g *gate) give(p []byte) int {
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	return n
}

// raw reads a body, no further than its end.
func (g *gate) raw(p []byte) (int, error) {
	if g.part != inOpen && int64(len(p)) > g.left {
		p = p[:g.left]
	}
	n, err := g.in.Read(p)
	if g.part == inOpen {
		return n, err
	}
	if g.left -= int64(n); g.left > 0 {
		return n, err
	}
	if g.part == inChunk {
		g.part = inChunkSize
	} else {
		g.end()
	}
	return n, err
}

// end closes the gate until the next request.
func (g *gate) end() {
	g.due.Store(false)
	g.begin()
}

// take learns from a whole line what comes next.
func (g *gate) take(line []byte) {
	text := bytes.TrimRight(line, "\r\n")
	switch {
	case g.part == inChunkSize:
		size, _, _ := strings.Cut(string(text), ";")
		n, err := strconv.ParseUint(strings.TrimSpace(size), 16, 62)
		switch {
		case err != nil:
			g.part = inOpen
		case n == 0:
			g.part = inTrailer
		default:
			g.part, g.left = inChunk, int64(n)+2
		}
	case g.part == inTrailer && len(text) == 0:
		g.end()
	case g.part == inHeader && g.first:
		g.status(string(text))
	case g.part == inHeader && len(text) == 0:
		g.body()
	case g.part == inHeader:
		g.header(string(text))
	}
}

func (g *gate) status(line string) {
	fields := strings.Fields(line)
	if len(fields) < 2 || !strings.HasPrefix(fields[0], "HTTP/1.") {
		g.part = inOpen
		return
	}
	g.first = false
	g.none = fields[1] == "204" || fields[1] == "304" || strings.HasPrefix(fields[1], "1")
	if strings.HasPrefix(fields[1], "1") {
		g.left = -1 // a real response follows
	} else {
		g.left = 0
	}
}

func (g *gate) header(line string) {
	name, value, _ := strings.Cut(line, ":")
	switch http.CanonicalHeaderKey(strings.TrimSpace(name)) {
	case "Content-Length":
		if n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64); err == nil {
			g.fixed = n
		}
	case "Transfer-Encoding":
		g.chunk = strings.EqualFold(strings.TrimSpace(value), "chunked")
	}
}

// body decides, at the end of a header, how the body ends.
func (g *gate) body() {
	switch {
	case g.none && g.left < 0:
		g.begin()
	case g.none || !g.chunk && g.fixed == 0:
		g.end()
	case g.chunk:
		g.part = inChunkSize
	case g.fixed > 0:
		g.part, g.left = inBody, g.fixed
	default:
		g.part = inOpen
	}
}
