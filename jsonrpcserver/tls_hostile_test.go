package jsonrpcserver

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// secureListeners serves echo over TLS on a stream and over HTTP.
func secureListeners(t *testing.T, opts *Options, f func(t *testing.T, s *Server, l *Listener, honest func())) {
	for _, scheme := range []string{"tcp", "https"} {
		t.Run(scheme, func(t *testing.T) {
			server, trusting := certificate(t)
			s := newServer(t, Backend{}, opts)
			l := listen(t, s, Endpoint{Scheme: scheme, Address: "127.0.0.1:0", Anonymous: true, TLS: server})
			f(t, s, l, func() {
				t.Helper()
				conn, err := tls.Dial("tcp", l.Addr().String(), trusting)
				if err != nil {
					t.Error(err)
					return
				}
				c := newClient(t, conn, false)
				if scheme == "tcp" {
					c.call(callEcho, `{"jsonrpc":"2.0","result":null,"id":1}`)
				} else {
					c.raw(postText(callEcho, "Connection: close\r\n"))
					_ = conn.SetReadDeadline(time.Now().Add(hang))
					answer, _ := io.ReadAll(conn)
					mustContain(t, "an honest client", string(answer), `"result":null`)
				}
				_ = conn.Close()
			})
		})
	}
}

// beginning returns what a client sends first.
func beginning(config *tls.Config) []byte {
	ours, theirs := net.Pipe()
	defer ours.Close()
	go func() { _ = tls.Client(theirs, config).Handshake(); theirs.Close() }()
	hello := make([]byte, 5000)
	_ = ours.SetReadDeadline(time.Now().Add(hang))
	n, _ := ours.Read(hello)
	return hello[:n]
}

// A handshake that is begun and left ends with its deadline; one that can't succeed, at
// once. Others are served meanwhile.
func TestHandshakes(t *testing.T) {
	hello := beginning(&tls.Config{InsecureSkipVerify: true})
	old := beginning(&tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	short := &Options{GreetTimeout: time.Second, MessageTimeout: time.Second}
	for _, row := range []struct {
		name string
		sent []byte
		opts *Options
	}{
		{"nothing", nil, short},
		{"half a record", hello[:3], short},
		{"half a ClientHello", hello[:len(hello)/2], short},
		{"a ClientHello, and nothing more", hello, short},
		{"an old version", old, nil},
		{"a plain request", []byte(postText(callEcho)), nil},
		{"a plain message", []byte(callEcho + "\n"), nil},
		{"a frame", []byte("Content-Length: 40\r\n\r\n" + callEcho), nil},
		{"nonsense", bytes.Repeat([]byte{0xff}, 1000), nil},
		{"an endless record", append([]byte("\x16\x03\x01\xff\xff"), make([]byte, 70_000)...), nil},
		{"an endless hello", []byte("\x16\x03\x01\x40\x00\x01\xff\xff\xff" + strings.Repeat("x", 16_380)), nil},
		{"SSLv2", append([]byte{0x80, 0x2e, 1, 3, 1}, make([]byte, 43)...), nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			secureListeners(t, row.opts, func(t *testing.T, s *Server, l *Listener, honest func()) {
				c := dial(t, l, false)
				_, _ = c.conn.Write(row.sent)
				honest()
				_ = c.conn.SetReadDeadline(time.Now().Add(hang))
				if _, err := io.Copy(io.Discard, c.conn); errors.Is(err, os.ErrDeadlineExceeded) {
					t.Error("the connection is left open")
				}
				settles(t, s, 0)
			})
		})
	}
}

// A client that goes amid the handshake leaves nothing, nor does a drain wait for one that stays.
func TestHandshakesThatAreLeft(t *testing.T) {
	hello := beginning(&tls.Config{InsecureSkipVerify: true})
	secureListeners(t, nil, func(t *testing.T, s *Server, l *Listener, honest func()) {
		for _, n := range []int{0, 3, len(hello) / 2, len(hello)} {
			c := dial(t, l, false)
			c.raw(string(hello[:n]))
			dropped(c)
			settles(t, s, 0)
		}
		honest()
		stays := dial(t, l, false)
		stays.raw(string(hello[:100]))
		for deadline := time.Now().Add(hang); s.Stats().Connections == 0 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		began := time.Now()
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took >= DefaultGrace && l.endpoint.Scheme == "tcp" {
			t.Errorf("the drain took %v", took)
		}
	})
}

// Old versions and renegotiation are refused.
func TestTLSVersions(t *testing.T) {
	secureListeners(t, nil, func(t *testing.T, s *Server, l *Listener, honest func()) {
		for version, taken := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
			conn, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true, MinVersion: version, MaxVersion: version})
			if (err == nil) != taken {
				t.Errorf("%s: %v", tls.VersionName(version), err)
			}
			if err == nil {
				_ = conn.Close()
			}
		}
		honest()
		settles(t, s, 0)
	})
}

// What TLS runs on gives up a peer that takes no record, whoever set which deadline, and
// keeps one that does.
func TestFirmConn(t *testing.T) {
	const limit = 10 * time.Second
	for _, row := range []struct {
		name string
		due  time.Duration // set before the write; zero for none
		want time.Duration
	}{
		{"no deadline", 0, limit}, {"a later one", time.Hour, limit}, {"an earlier one", time.Second, time.Second}, {"one that has passed", -time.Second, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				defer ours.Close()
				c := newFirmConn(theirs, limit)
				go func() { _, _ = io.ReadFull(ours, make([]byte, 3*5)) }()
				for range 3 { // each in its own time
					if _, err := c.Write(make([]byte, 5)); err != nil {
						t.Fatal(err)
					}
					time.Sleep(2 * limit)
				}
				if row.due != 0 {
					_ = c.SetDeadline(time.Now().Add(row.due))
				}
				began := time.Now()
				if _, err := c.Write(make([]byte, 5)); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Error(err)
				}
				if took := time.Since(began); took != row.want {
					t.Errorf("it took %v", took)
				}
				if _, err := ours.Read(make([]byte, 1)); err != io.EOF {
					t.Errorf("the connection is left open: %v", err)
				}
			})
		})
	}
}
