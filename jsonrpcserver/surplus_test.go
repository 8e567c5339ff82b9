package jsonrpcserver

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// occupy opens the only connection that a server may have.
func occupy(t *testing.T, s *Server, l *Listener) {
	t.Helper()
	first, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { first.Close() })
	for s.Stats().Connections == 0 {
		time.Sleep(time.Millisecond)
	}
}

// A connection beyond the limit is told why it is closed, also where it has sent something.
func TestSurplusOnStreams(t *testing.T) {
	server, trusting := certificate(t)
	for name, config := range map[string]*tls.Config{"plain": nil, "tls": server} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, Backend{}, &Options{MaxConnections: 1})
			l := listen(t, s, Endpoint{Scheme: "tcp", Address: "127.0.0.1:0", TLS: config, Anonymous: true})
			occupy(t, s, l)
			conn, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			if config != nil {
				conn = tls.Client(conn, trusting)
			}
			c := newClient(t, conn, false)
			c.raw(strings.Repeat(callEcho+"\n", 500))
			c.expect(refused(-32003, "null"))
			c.expectClosed()
			if s.Stats().RefusedConnections != 1 {
				t.Error(s.Stats())
			}
		})
	}
}

func TestSurplusOverHTTP(t *testing.T) {
	server, trusting := certificate(t)
	for _, scheme := range []string{"http", "https"} {
		s, l := httpListener(t, Backend{}, &Options{MaxConnections: 1}, func(e *Endpoint) { e.Scheme, e.TLS = scheme, server })
		occupy(t, s, l)
		client := &http.Client{Timeout: hang, Transport: &http.Transport{TLSClientConfig: trusting, ForceAttemptHTTP2: true, DisableKeepAlives: true}}
		resp, err := client.Post(fmt.Sprintf("%s://%s/rpc", scheme, l.Addr()), "application/json", strings.NewReader(callEcho))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "1" || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %v, %s, %v", scheme, err, resp.Status, resp.Header)
		}
		if err := sameReply(refused(-32003, "null"), string(body)); err != nil {
			t.Errorf("%s: %v", scheme, err)
		}
	}
}

// A crowd from a network keeps nobody off the unix socket.
func TestCrowdsApart(t *testing.T) {
	s, l := httpListener(t, Backend{}, &Options{MaxConnections: 1}, nil)
	occupy(t, s, l)
	local := listen(t, s, Endpoint{Scheme: "unix", Address: socketPath(t)})
	first := dial(t, local, false)
	first.call(callEcho, `{"jsonrpc":"2.0","result":null,"id":1}`)
	if n := s.Stats().Connections; n != 2 {
		t.Errorf("%d connections", n)
	}
	second := dial(t, local, false)
	second.expect(refused(-32003, "null"))
	second.expectClosed()
}

// Surplus peers that never greet are closed all the same.
func TestSurplusThatStays(t *testing.T) {
	server, _ := certificate(t)
	s, l := httpListener(t, Backend{}, &Options{MaxConnections: 1}, func(e *Endpoint) { e.Scheme, e.TLS = "https", server })
	occupy(t, s, l)
	var peers []net.Conn
	for range 2 * maxFarewells {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		peers = append(peers, conn)
	}
	for _, conn := range peers {
		_ = conn.SetDeadline(time.Now().Add(hang))
		if said, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("still open, after %q", said)
		}
	}
}
