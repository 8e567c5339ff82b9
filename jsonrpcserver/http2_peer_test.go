package jsonrpcserver

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// Kinds and flags of HTTP/2 frames.
const (
	frameData = iota
	frameHeaders
	framePriority
	frameReset
	frameSettings
	framePush
	framePing
	frameGoAway
	frameWindow
	frameContinuation

	flagEnd        = 1 // of a stream; ACK of settings and pings
	flagEndHeaders = 4

	settingWindow = 4 // the window of new streams
)

// h2frame is one frame as it came.
type h2frame struct {
	kind, flags byte
	stream      uint32
	payload     []byte
}

// encode returns the frame as it travels.
func (f h2frame) encode() []byte {
	dst := binary.BigEndian.AppendUint32(nil, uint32(len(f.payload))<<8|uint32(f.kind))
	dst = binary.BigEndian.AppendUint32(append(dst, f.flags), f.stream)
	return append(dst, f.payload...)
}

// h2peer speaks HTTP/2 frame by frame, as no decent client does.
type h2peer struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
	next uint32 // stream
}

// dialH2 connects over TLS and greets; settings are pairs of number and value.
func dialH2(t testing.TB, address string, settings ...uint32) *h2peer {
	t.Helper()
	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.NetConn().Close() })
	return greetH2(t, conn, settings...)
}

func greetH2(t testing.TB, conn net.Conn, settings ...uint32) *h2peer {
	t.Helper()
	p := &h2peer{t: t, conn: conn, in: bufio.NewReader(conn), next: 1}
	var payload []byte
	for i := 0; i < len(settings); i += 2 {
		payload = binary.BigEndian.AppendUint16(payload, uint16(settings[i]))
		payload = binary.BigEndian.AppendUint32(payload, settings[i+1])
	}
	greeting := h2frame{kind: frameSettings, payload: payload}
	_ = p.try(append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), greeting.encode()...))
	return p
}

func (p *h2peer) write(data []byte) {
	p.t.Helper()
	if err := p.try(data); err != nil {
		p.t.Fatal(err)
	}
}

// try writes where the server may have closed the connection.
func (p *h2peer) try(data []byte) error {
	_ = p.conn.SetWriteDeadline(time.Now().Add(hang))
	_, err := p.conn.Write(data)
	return err
}

func (p *h2peer) send(f h2frame) {
	p.t.Helper()
	p.write(f.encode())
}

// hpack encodes pairs of name and value, each in full.
func hpack(pairs ...string) (block []byte) {
	for i, text := range pairs {
		if i%2 == 0 {
			block = append(block, 0)
		}
		if n := len(text); n < 127 {
			block = append(block, byte(n))
		} else {
			block = binary.AppendUvarint(append(block, 127), uint64(n-127))
		}
		block = append(block, text...)
	}
	return block
}

// postHeader is the header of a call with a body of this length, and more.
func postHeader(length int, more ...string) []byte {
	return hpack(append([]string{
		":method", "POST", ":scheme", "https", ":path", "/rpc", ":authority", "localhost",
		"content-type", "application/json", "content-length", fmt.Sprint(length),
	}, more...)...)
}

// open begins a request and returns its stream.
func (p *h2peer) open(length int, more ...string) uint32 {
	p.t.Helper()
	id := p.next
	p.next += 2
	p.send(h2frame{frameHeaders, flagEndHeaders, id, postHeader(length, more...)})
	return id
}

// post sends a whole request and returns its stream.
func (p *h2peer) post(body string, more ...string) uint32 {
	p.t.Helper()
	id := p.open(len(body), more...)
	p.send(h2frame{frameData, flagEnd, id, []byte(body)})
	return id
}

func (p *h2peer) reset(id uint32) {
	p.t.Helper()
	p.send(h2frame{frameReset, 0, id, []byte{0, 0, 0, 8}})
}

// receive returns the next frame, or the error of the connection. Windows are opened as
// data comes if wide says so.
func (p *h2peer) receive(wide bool) (h2frame, error) {
	_ = p.conn.SetReadDeadline(time.Now().Add(hang))
	var head [9]byte
	if _, err := io.ReadFull(p.in, head[:]); err != nil {
		return h2frame{}, err
	}
	f := h2frame{head[3], head[4], binary.BigEndian.Uint32(head[5:]), make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))}
	if _, err := io.ReadFull(p.in, f.payload); err != nil {
		return f, err
	}
	if n := len(f.payload); wide && f.kind == frameData && n > 0 {
		for _, id := range []uint32{0, f.stream} {
			_ = p.try(h2frame{frameWindow, 0, id, binary.BigEndian.AppendUint32(nil, uint32(n))}.encode())
		}
	}
	return f, nil
}

// h2answer is how one stream ended.
type h2answer struct {
	header, body string
	reset        bool
}

// answers reads until each of these streams has ended. A status that isn't in the table
// of common ones stands in the header as it is.
func (p *h2peer) answers(ids ...uint32) map[uint32]*h2answer {
	p.t.Helper()
	all := map[uint32]*h2answer{}
	for waiting := len(ids); waiting > 0; {
		f, err := p.receive(true)
		if err != nil {
			p.t.Fatalf("%d streams have no end: %v", waiting, err)
		}
		if f.stream == 0 {
			continue
		}
		a := all[f.stream]
		if a == nil {
			a = &h2answer{}
			all[f.stream] = a
		}
		switch f.kind {
		case frameHeaders:
			a.header += string(f.payload)
		case frameData:
			a.body += string(f.payload)
		case frameReset:
			a.reset = true
		}
		for _, id := range ids {
			if id == f.stream && (f.kind == frameReset && a.body == "" || f.kind < framePriority && f.flags&flagEnd != 0) {
				waiting--
			}
		}
	}
	return all
}

// call posts a body and returns the answer's.
func (p *h2peer) call(body string, more ...string) string {
	p.t.Helper()
	id := p.post(body, more...)
	return p.answers(id)[id].body
}

// ends waits until the server closes the connection.
func (p *h2peer) ends() {
	p.t.Helper()
	for {
		if _, err := p.receive(false); err != nil {
			if ne, ok := err.(net.Error); ok && ne.Timeout() {
				p.t.Error("the connection is left open")
			}
			return
		}
	}
}

// httpsListener serves over TLS.
func httpsListener(t testing.TB, b Backend, opts *Options) (*Server, *Listener) {
	t.Helper()
	server, _ := certificate(t)
	return httpListener(t, b, opts, func(e *Endpoint) { e.Scheme, e.TLS = "https", server })
}

// settles waits until the server has no calls and at most so many connections.
func settles(t testing.TB, s *Server, connections int64) {
	t.Helper()
	for deadline := time.Now().Add(hang); ; time.Sleep(time.Millisecond) {
		got := s.Stats()
		if got.Calls == 0 && got.Connections <= connections {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", got)
		}
	}
}

func mustContain(t testing.TB, what, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%s: %.300q has no %s", what, text, word)
		}
	}
}
