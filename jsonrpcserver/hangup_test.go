package jsonrpcserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cupule/cupule/registry"
)

// postText is a request over HTTP/1.1, as it travels.
func postText(body string, more ...string) string {
	return "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + strings.Join(more, "") +
		fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

// dropped closes a connection with a reset.
func dropped(c *client) {
	if tcp, ok := c.conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.conn.Close()
}

// A client that hangs up, wherever it is, leaves nothing behind; what it called is cancelled.
func TestHTTPHangUp(t *testing.T) {
	var large atomic.Int64
	batch := "[" + callGate + "," + callGate + "," + callGate + "]"
	events := `{"jsonrpc":"2.0","method":"gate","id":1,"meta":{"progressToken":1}}`
	for _, row := range []struct {
		name, sent string
		cancelled  int // calls that have begun
		read       int // bytes of the answer
	}{
		{"before anything", "", 0, 0},
		{"amid the header", "POST /rpc HTTP/1.1\r\nHost: loc", 0, 0},
		{"before the body", strings.TrimSuffix(postText(callGate), callGate), 0, 0},
		{"amid the body", strings.TrimSuffix(postText(callGate), `"id":1}`), 0, 0},
		{"amid a chunk", "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n100\r\n{", 0, 0},
		{"amid a large body", postText(strings.Repeat(" ", 900_000))[:500_000], 0, 0},
		{"during the call", postText(callGate), 1, 0},
		{"during a notification", postText(`{"jsonrpc":"2.0","method":"gate"}`), 1, 0},
		{"during a batch", postText(batch), 3, 0},
		{"during a call with events", postText(events, "Accept: text/event-stream\r\n"), 1, 20},
		{"amid the answer", postText(`{"jsonrpc":"2.0","method":"large","id":1}`), 0, 5000},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := newGate()
			s, l := httpListener(t, Backend{Registry: newRegistry(t, g.operation(), largeResult(&large))}, nil, nil)
			for _, drop := range []func(*client){dropped, func(c *client) { _ = c.conn.Close() }} {
				c := dial(t, l, false)
				c.raw(row.sent)
				g.waitStarted(t, row.cancelled)
				if _, err := io.ReadFull(c.conn, make([]byte, row.read)); err != nil {
					t.Fatal(err)
				}
				drop(c)
				for range row.cancelled {
					g.waitCancelled(t)
				}
				settles(t, s, 0)
			}
			if _, _, got := post(t, l, callEcho); !strings.Contains(got, `"result":null`) {
				t.Error(got)
			}
			http.DefaultClient.CloseIdleConnections()
			settles(t, s, 0)
			if s.middle.free != middleBudget || s.large.free != largeBudget {
				t.Errorf("%d and %d bytes are free", s.middle.free, s.large.free)
			}
		})
	}
}

// Requests that are pipelined are answered one by one, in order, though the client sends
// them all before it reads.
func TestHTTPPipeline(t *testing.T) {
	const n = 500
	s, l := httpListener(t, Backend{}, nil, nil)
	c := dial(t, l, false)
	var all strings.Builder
	for i := range n {
		all.WriteString(postText(withID(fmt.Sprint(i))))
	}
	sent := make(chan error, 1)
	go func() { _, err := io.WriteString(c.conn, all.String()); sent <- err }()
	_ = c.conn.SetReadDeadline(time.Now().Add(hang))
	for i := range n {
		resp, err := http.ReadResponse(c.in, nil)
		if err != nil {
			t.Fatalf("after %d answers: %v", i, err)
		}
		body, _ := io.ReadAll(resp.Body)
		if err := sameReply(echoed("null", fmt.Sprint(i)), string(body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if got := s.Stats(); got.Connections != 1 || got.Calls != 0 {
		t.Errorf("%+v", got)
	}
}

// A header that comes byte by byte ends with the deadline of its message.
func TestHTTPSlowHeader(t *testing.T) {
	s, l := httpListener(t, Backend{}, &Options{MessageTimeout: 100 * time.Millisecond}, nil)
	c := dial(t, l, false)
	for _, b := range []byte("POST /rpc HTTP/1.1\r\nX: " + strings.Repeat("x", 1<<20)) {
		if _, err := c.conn.Write([]byte{b}); err != nil {
			break
		}
		time.Sleep(time.Millisecond)
		if s.Stats().Connections == 0 && b == 'x' {
			break
		}
	}
	settles(t, s, 0)
}

// What a client expects before it sends a body: to be told to go on, or why not.
func TestHTTPExpectContinue(t *testing.T) {
	_, l := httpListener(t, withCallers(t), nil, func(e *Endpoint) { e.Anonymous = false })
	for _, row := range []struct {
		name   string
		header []string
		status int
	}{
		{"known", []string{"Authorization: Bearer admin-token\r\n"}, 200},
		{"unknown", nil, 401},
		{"too large", []string{"Authorization: Bearer admin-token\r\n"}, 413},
		{"other wish", []string{"Authorization: Bearer admin-token\r\n", "Expect: more\r\n"}, 417},
	} {
		c := dial(t, l, false)
		text := postText(callWhoami, append(row.header, "Expect: 100-continue\r\n")...)
		header, _, _ := strings.Cut(text, "\r\n\r\n")
		if row.status == 413 {
			header = strings.Replace(header, fmt.Sprint(len(callWhoami)), "100000000", 1)
		}
		if row.status == 417 {
			header = strings.Replace(header, "Expect: 100-continue\r\n", "", 1)
		}
		c.raw(header + "\r\n\r\n")
		_ = c.conn.SetReadDeadline(time.Now().Add(hang))
		resp, err := http.ReadResponse(c.in, nil)
		if err == nil && resp.StatusCode == 100 {
			c.raw(callWhoami)
			resp, err = http.ReadResponse(c.in, nil)
		}
		if err != nil || resp.StatusCode != row.status {
			t.Errorf("%s: %+v %v", row.name, resp, err)
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		if row.status == 200 {
			mustContain(t, row.name, string(body), "admin via http")
		}
	}
}

// Where the end of a request isn't certain, nothing that may be another is run.
func TestHTTPUncertainEnds(t *testing.T) {
	var ran atomic.Int64
	op := counting(&ran)
	_, l := httpListener(t, Backend{Registry: newRegistry(t, op)}, nil, nil)
	hidden := postText(`{"jsonrpc":"2.0","method":"count","id":2}`)
	for name, header := range map[string]string{
		"both, chunked wins":   "Content-Length: 40\r\nTransfer-Encoding: chunked\r\n\r\n28\r\n" + callEcho + "\r\n0\r\n\r\n" + hidden,
		"both, hidden in it":   fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n%s", len(hidden)+5, hidden),
		"two lengths":          "Content-Length: 40\r\nContent-Length: 5\r\n\r\n" + callEcho + hidden,
		"list of lengths":      "Content-Length: 40, 5\r\n\r\n" + callEcho + hidden,
		"negative":             "Content-Length: -1\r\n\r\n" + hidden,
		"plus":                 "Content-Length: +40\r\n\r\n" + callEcho + hidden,
		"hexadecimal":          "Content-Length: 0x28\r\n\r\n" + callEcho + hidden,
		"chunked twice":        "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n" + hidden,
		"chunked and identity": "Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n" + hidden,
		"other coding":         "Transfer-Encoding: gzip\r\n\r\n" + hidden,
		"space before colon":   "Content-Length : 40\r\n\r\n" + callEcho + hidden,
		"folded length":        "X: y\r\n Content-Length: 40\r\n\r\n" + hidden,
		"obsolete fold":        "X: y\r\n Content-Length: 40\r\n\r\n" + callEcho + hidden,
		"bad chunk size":       "Transfer-Encoding: chunked\r\n\r\nzz\r\n" + hidden,
		"chunk without end":    "Transfer-Encoding: chunked\r\n\r\n5\r\nhello" + hidden,
		"no length":            "\r\n" + hidden,
	} {
		c := dial(t, l, false)
		c.raw("POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + header)
		if tcp, ok := c.conn.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
		_ = c.conn.SetReadDeadline(time.Now().Add(hang))
		answer, err := io.ReadAll(bufio.NewReader(c.conn))
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			t.Errorf("%s: left open", name)
		}
		if n := ran.Swap(0); n > 0 {
			t.Errorf("%s: the hidden request ran: %q", name, answer)
		}
	}
}

func counting(ran *atomic.Int64) registry.Operation {
	return registry.Operation{Name: "count", Handler: func(context.Context, *registry.Call) (json.RawMessage, error) {
		ran.Add(1)
		return json.RawMessage("null"), nil
	}}
}
