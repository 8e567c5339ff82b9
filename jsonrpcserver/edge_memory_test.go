package jsonrpcserver

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
)

// edgeChild is the argument of a test binary that serves all that goes over a network.
const edgeChild = "jsonrpcserver-edge-child"

// Where the child listens, in the order in which it says so.
const (
	edgeHTTPS = iota
	edgeTLS
	edgeHTTP
	edgeTCP
	edges
)

// serveEdges serves callers with the token "secret", and tells its memory as serveForMemory does.
func serveEdges() error {
	reg, err := registry.New(operations(), nil)
	if err != nil {
		return err
	}
	secret := func() (string, bool) { return "secret", true }
	s, err := New(Backend{Registry: reg, Callers: []Caller{{Name: "app", Token: secret, Authority: effects.Authority{}}}}, nil)
	if err != nil {
		return err
	}
	pair := httptest.NewTLSServer(nil)
	defer pair.Close()
	config := &tls.Config{Certificates: pair.TLS.Certificates}
	var listeners []*Listener
	for _, e := range []Endpoint{{Scheme: "https", TLS: config}, {Scheme: "tcp", TLS: config}, {Scheme: "http"}, {Scheme: "tcp"}} {
		e.Address = "127.0.0.1:0"
		l, err := s.Listen(context.Background(), e)
		if err != nil {
			return err
		}
		fmt.Println(l.Addr())
		listeners = append(listeners, l)
	}
	go func() { _ = s.Serve(context.Background(), listeners...) }()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		fmt.Println(m.HeapInuse+m.StackInuse, highWater(), s.Stats().Connections)
	}
	return nil
}

// honestly calls echo with a client of its own, and returns what comes back.
func (m *measured) honestly(edge int) string {
	m.t.Helper()
	address, trusting := m.addresses[edge], &tls.Config{InsecureSkipVerify: true}
	switch edge {
	case edgeHTTPS, edgeHTTP:
		transport := &http.Transport{TLSClientConfig: trusting, ForceAttemptHTTP2: true}
		defer transport.CloseIdleConnections()
		scheme := map[int]string{edgeHTTPS: "https", edgeHTTP: "http"}[edge]
		req, _ := http.NewRequest("POST", scheme+"://"+address+"/rpc", strings.NewReader(callEcho))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer secret")
		_, _, body := do(m.t, &http.Client{Transport: transport, Timeout: hang}, req)
		return body
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		m.t.Fatal(err)
	}
	defer conn.Close()
	if edge == edgeTLS {
		conn = tls.Client(conn, trusting)
	}
	c := &client{t: m.t, conn: conn, in: bufio.NewReader(conn)}
	c.call(authenticateSecret, `{"jsonrpc":"2.0","id":"a","result":{"caller":"app"}}`)
	c.send(callEcho)
	answer, _ := c.receive(hang)
	return answer
}

const authenticateSecret = `{"jsonrpc":"2.0","method":"rpc.authenticate","params":{"token":"secret"},"id":"a"}`

// beginners are peers that begin something and leave it.
type beginners struct {
	name  string
	edge  int
	peers int
	each  int // KiB that each may take
	begin func(*testing.T, net.Conn)
}

func allBeginners() []beginners {
	plain := func(text string) func(*testing.T, net.Conn) {
		return func(_ *testing.T, conn net.Conn) { _, _ = io.WriteString(conn, text) }
	}
	posted := "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer secret\r\n"
	half := `{"jsonrpc":"2.0","method":"echo","id":1,"params":["` + strings.Repeat("x", 900_000)
	return []beginners{
		{"https, no handshake", edgeHTTPS, 1000, 16, plain("")},
		{"https, half a ClientHello", edgeHTTPS, 1000, 128 + 16, plain(halfHello())},
		{"https, plain HTTP", edgeHTTPS, 1000, 16, plain(posted)},
		{"tls, no handshake", edgeTLS, 1000, 16, plain("")},
		{"tls, half a ClientHello", edgeTLS, 1000, 128 + 16, plain(halfHello())},
		{"tls, plain", edgeTLS, 1000, 16, plain(callEcho + "\n")},
		{"http, half a header", edgeHTTP, 1000, 40, plain(posted + "X: " + strings.Repeat("x", 11_000))},
		{"http, small headers", edgeHTTP, 1000, 130, plain(posted + strings.Repeat("X: x\r\n", 1800))},
		{"http, small headers of many names", edgeHTTP, 1000, 160, plain(posted + manyNames())},
		{"http, half a body", edgeHTTP, 1000, 12, plain(posted + "Content-Length: 1000000\r\n\r\n" + half)},
		{"http, half a small body", edgeHTTP, 1000, 24, plain(posted + "Content-Length: 2000\r\n\r\n{")},
		{"tcp, half a message", edgeTCP, 1000, 14, plain(authenticateSecret + "\n" + half)},
		{"tls, half a message", edgeTLS, 1000, 48, secretly(authenticateSecret + "\n" + half)},
		{"over HTTP2, half bodies", edgeHTTPS, 64, 1100, halfStreams("", "authorization", "Bearer secret")},
		{"over HTTP2, half bodies with large headers", edgeHTTPS, 64, 1100, halfStreams("", "authorization", "Bearer secret", "x", strings.Repeat("x", 7000))},
		{"over HTTP2, strangers whose windows are shut", edgeHTTPS, 64, 1100, halfStreams("shut")},
		{"over HTTP2, pings that nobody reads the answers of", edgeHTTPS, 64, 400, pings},
		{"over HTTP2, headers without end", edgeHTTPS, 1000, 100, endlessHeaders},
	}
}

// TestMemoryOfTheEdge: peers that begin something and leave it cost what a connection may,
// and keep nobody else out.
func TestMemoryOfTheEdge(t *testing.T) {
	if raceEnabled || testing.Short() {
		t.Skip("it takes long, and the race detector takes memory of its own")
	}
	for _, row := range allBeginners() {
		t.Run(row.name, func(t *testing.T) {
			m := startMeasured(t, edgeChild, edges)
			mustContain(t, "the first call", m.honestly(row.edge), `"result":null`)
			idle, _ := m.memory("")
			var all sync.WaitGroup
			for range row.peers {
				conn, err := net.Dial("tcp", m.addresses[row.edge])
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { conn.Close() })
				all.Go(func() {
					_ = conn.SetWriteDeadline(time.Now().Add(2 * time.Second))
					row.begin(t, conn)
				})
			}
			all.Wait()
			mustContain(t, "a call beside them", m.honestly(row.edge), `"result":null`)
			limit := int64(8<<20 + row.peers*row.each<<10)
			inUse, resident := m.memory("")
			for began := time.Now(); inUse-idle > limit && time.Since(began) < hang/2; { // what is refused goes first
				inUse, resident = m.memory("")
			}
			t.Logf("KiB above %d idle: %d; %d for each; resident %d", idle>>10, (inUse-idle)>>10, (inUse-idle)>>10/int64(row.peers), resident>>10)
			if inUse-idle > limit {
				t.Errorf("%d bytes for %d peers, more than %d", inUse-idle, row.peers, limit)
			}
		})
	}
}

// manyNames is as many fields as find room.
func manyNames() string {
	var text strings.Builder
	for i := range 1600 {
		fmt.Fprintf(&text, "%x:\r\n", i+256)
	}
	return text.String()
}

// halfHello is most of the longest ClientHello that is read.
func halfHello() string {
	const size = 65_000
	text := "\x01\x00" + string([]byte{size >> 8, size & 255}) + strings.Repeat("\x03", size-1000)
	var records strings.Builder
	for len(text) > 0 {
		part := text[:min(len(text), 16_000)]
		text = text[len(part):]
		records.WriteString("\x16\x03\x01" + string([]byte{byte(len(part) >> 8), byte(len(part))}) + part)
	}
	return records.String()
}

// secretly sends a text over TLS.
func secretly(text string) func(*testing.T, net.Conn) {
	return func(_ *testing.T, conn net.Conn) {
		_, _ = io.WriteString(tls.Client(conn, &tls.Config{InsecureSkipVerify: true}), text)
	}
}

// overH2 greets on a connection.
func overH2(t *testing.T, conn net.Conn, settings ...uint32) *h2peer {
	return greetH2(t, tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}), settings...)
}

// halfStreams begins as many requests as one connection may, and sends half of each body.
func halfStreams(window string, header ...string) func(*testing.T, net.Conn) {
	return func(t *testing.T, conn net.Conn) {
		var settings []uint32
		if window == "shut" {
			settings = []uint32{settingWindow, 0}
		}
		p := overH2(t, conn, settings...)
		for range 256 {
			id := p.next
			p.next += 2
			if p.try(append(h2frame{frameHeaders, flagEndHeaders, id, postHeader(2000, header...)}.encode(), h2frame{frameData, 0, id, []byte("{")}.encode()...)) != nil {
				return
			}
		}
	}
}

func pings(t *testing.T, conn net.Conn) {
	p := overH2(t, conn)
	many := strings.Repeat(string(h2frame{kind: framePing, payload: make([]byte, 8)}.encode()), 1000)
	for range 100 {
		_ = conn.SetWriteDeadline(time.Now().Add(2 * time.Second))
		if _, err := io.WriteString(p.conn, many); err != nil {
			return
		}
	}
}

// endlessHeaders begins a header and goes on with more of it, up to the limit and beyond.
func endlessHeaders(t *testing.T, conn net.Conn) {
	p := overH2(t, conn)
	if p.try(h2frame{frameHeaders, 0, 1, postHeader(10)}.encode()) != nil {
		return
	}
	for i := range 15 {
		if p.try(h2frame{frameContinuation, 0, 1, hpack(fmt.Sprint("x", i), strings.Repeat("x", 1000))}.encode()) != nil {
			return
		}
	}
}
