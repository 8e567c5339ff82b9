package mcpclient

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/cupule/cupule/config"
)

// TestGateEndsWithTheResponse reads responses of every form through a gate, in pieces of
// every size, with something behind them.
func TestGateEndsWithTheResponse(t *testing.T) {
	const surplus = "AUTH Bearer secret"
	for name, response := range map[string]string{
		"length":             "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"length, one LF":     "HTTP/1.1 200 OK\ncontent-length:5\n\nhello",
		"no body":            "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
		"204":                "HTTP/1.1 204 No Content\r\n\r\n",
		"304":                "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
		"chunks":             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\na;x=y\r\n0123456789\r\n0\r\n\r\n",
		"chunks, trailer":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: CHUNKED\r\nContent-Length: 3\r\n\r\n1\r\nx\r\n0\r\nA: b\r\n\r\n",
		"interim":            "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"continue, then 204": "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
	} {
		for _, size := range []int{1, 3, 17, 4096} {
			g := newGate(readConn{in: strings.NewReader(response + surplus)})
			g.due.Store(true)
			got := readAll(g, size)
			if got != response || g.due.Load() {
				t.Errorf("%s, %d at once: %q", name, size, got)
			}
		}
	}
	// What has no end, or is not understood, is passed on.
	for _, open := range []string{
		"HTTP/1.1 200 OK\r\n\r\nuntil the end", "HTTP/2 what", "\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2*maxHeaderBytes),
	} {
		g := newGate(readConn{in: iotest.HalfReader(strings.NewReader(open))})
		g.due.Store(true)
		if got := readAll(g, 1000); got != open {
			t.Errorf("%.40q: got %.40q", open, got)
		}
	}
}

// readConn is a connection that is only read from.
type readConn struct {
	net.Conn // for the methods that nobody calls
	in       io.Reader
}

func (c readConn) Read(p []byte) (int, error) { return c.in.Read(p) }
func (readConn) Write(p []byte) (int, error)  { return len(p), nil }

func readAll(r io.Reader, size int) string {
	var all bytes.Buffer
	for p := make([]byte, size); ; {
		n, err := r.Read(p)
		all.Write(p[:n])
		if err != nil {
			return all.String()
		}
	}
}

// TestSurplusReachesNoLog answers with the right length and the client's own token behind it.
func TestSurplusReachesNoLog(t *testing.T) {
	var printed bytes.Buffer
	defer log.SetOutput(log.Writer())
	log.SetOutput(&printed)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var answered atomic.Int64
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go leak(conn, &answered)
		}
	}()
	s := webServer("http://"+l.Addr().String()+"/mcp", rule("echo"))
	s.HTTP.BearerTokenEnv = "TOKEN"
	c := newClient(t, map[string]*config.Server{"s": s})
	if _, err := c.CallTool(t.Context(), "s", "echo", nil, nobody); err == nil {
		t.Error("the server answers nothing that makes sense")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if answered.Load() == 0 {
		t.Error("the server was not asked")
	}
	if printed.Len() > 0 {
		t.Errorf("printed: %s", printed.String())
	}
}

// leak answers each request of a connection, and writes what it was authorized with behind that.
func leak(conn net.Conn, answered *atomic.Int64) {
	defer conn.Close()
	for in := bufio.NewReader(conn); ; {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		body := `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`
		answered.Add(1)
		if _, err := fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%sAUTH %s", len(body), body, r.Header.Get("Authorization")); err != nil {
			return
		}
	}
}
