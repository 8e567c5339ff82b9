package jsonrpcserver

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http/httptest"
	"path/filepath"
	"syscall"
	"testing"
)

// certificate returns a server's configuration and that of a client who trusts it.
func certificate(t testing.TB) (server, client *tls.Config) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return &tls.Config{Certificates: s.TLS.Certificates}, &tls.Config{RootCAs: roots, ServerName: "example.com"}
}

// TestTLSOnStreams plays every conversation over TLS on TCP.
func TestTLSOnStreams(t *testing.T) {
	server, trusting := certificate(t)
	for _, file := range caseFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			forEachFraming(t, func(t *testing.T, headers bool) {
				t.Parallel()
				l := listen(t, newServer(t, Backend{}, nil), Endpoint{Scheme: "tcp", Address: "127.0.0.1:0", TLS: server, Anonymous: true})
				conn, err := tls.Dial("tcp", l.Addr().String(), trusting)
				if err != nil {
					t.Fatal(err)
				}
				newClient(t, conn, headers).play(readCases(t, file))
			})
		})
	}
}

// TestPlainPeerOfATLSListener is closed, and keeps nobody else out.
func TestPlainPeerOfATLSListener(t *testing.T) {
	server, trusting := certificate(t)
	l := listen(t, newServer(t, Backend{}, nil), Endpoint{Scheme: "tcp", Address: "127.0.0.1:0", TLS: server, Anonymous: true})
	plain := dial(t, l, false)
	plain.raw("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"}\n")
	if _, err := io.Copy(io.Discard, plain.conn); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Error(err)
	}
	conn, err := tls.Dial("tcp", l.Addr().String(), trusting)
	if err != nil {
		t.Fatal(err)
	}
	newClient(t, conn, false).call(`{"jsonrpc":"2.0","id":1,"method":"echo"}`, `{"jsonrpc":"2.0","id":1,"result":null}`)
}

// dialSecure is dial, over TLS where the listener wants that.
func dialSecure(t testing.TB, l *Listener, headers bool) *client {
	t.Helper()
	if l.tls == nil {
		return dial(t, l, headers)
	}
	conn, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	return newClient(t, conn, headers)
}
