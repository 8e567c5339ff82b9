package mcpclient

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/mcpclient/mcptest"
	"github.com/cupule/cupule/registry"
)

// forward is a proxy that opens tunnels for who knows its password.
func forward(tunnels *atomic.Int32) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Header.Get("Proxy-Authorization") != "Basic dXNlcjpwYXNz" || r.Header.Get("Authorization") != "" {
			http.Error(w, "no", http.StatusProxyAuthRequired)
			return
		}
		to, err := net.Dial("tcp", r.Host)
		if err != nil {
			http.Error(w, "no", http.StatusBadGateway)
			return
		}
		defer to.Close()
		tunnels.Add(1)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n")
		go func() { _, _ = io.Copy(to, conn); _ = to.(*net.TCPConn).CloseWrite() }()
		_, _ = io.Copy(conn, to)
	})
}

func rootsOf(t *testing.T, web *httptest.Server) string {
	file := filepath.Join(t.TempDir(), "roots.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
	if err := os.WriteFile(file, block, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func proxied(t *testing.T, s *config.Server, proxy string) *Client {
	s.HTTP.ProxyEnv, s.HTTP.BearerTokenEnv = "PROXY", "TOKEN"
	c, err := New(&config.Config{MCP: map[string]*config.Server{"s": s}}, &Options{LookupEnv: func(name string) (string, bool) {
		if name == "PROXY" {
			return proxy, true
		}
		return lookup(name)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestTunnelOverTLS trusts an https proxy by the server's ca_file, and none without.
func TestTunnelOverTLS(t *testing.T) {
	var tunnels atomic.Int32
	proxy := httptest.NewUnstartedServer(forward(&tunnels))
	proxy.Config.ErrorLog = log.New(io.Discard, "", 0)
	proxy.StartTLS()
	defer proxy.Close()
	through := strings.Replace(proxy.URL, "https://", "https://user:pass@", 1)
	web := mcptest.Good().HTTPS(t)
	s := webServer(web.URL, rule("echo"))
	_, err := proxied(t, s, through).CallTool(t.Context(), "s", "echo", nil, nobody)
	wantKind(t, err, registry.KindUnavailable, registry.NotSent)
	if tunnels.Load() != 0 {
		t.Errorf("%d tunnels of an untrusted proxy", tunnels.Load())
	}
	s.HTTP.CAFile = rootsOf(t, proxy)
	if _, err := proxied(t, s, through).CallTool(t.Context(), "s", "echo", nil, nobody); err != nil || tunnels.Load() == 0 {
		t.Errorf("%d tunnels: %v", tunnels.Load(), err)
	}
	if _, err := proxied(t, s, strings.Replace(through, "127.0.0.1", "localhost", 1)).CallTool(t.Context(), "s", "echo", nil, nobody); err == nil {
		t.Error("a proxy was trusted under a name that its certificate doesn't have")
	}
}

// TestTunnel calls a good server through a proxy, and a leaking one whose surplus must reach no
// log there either.
func TestTunnel(t *testing.T) {
	var printed bytes.Buffer
	defer log.SetOutput(log.Writer())
	log.SetOutput(&printed)
	var tunnels atomic.Int32
	proxy := httptest.NewServer(forward(&tunnels))
	defer proxy.Close()
	through := strings.Replace(proxy.URL, "http://", "http://user:pass@", 1)
	script := mcptest.Good().HTTP(t)
	web := httptest.NewTLSServer(script)
	defer web.Close()
	good := webServer(web.URL+"/mcp", rule("echo"))
	good.HTTP.CAFile = rootsOf(t, web)
	if _, err := proxied(t, good, through).CallTool(t.Context(), "s", "echo", nil, nobody); err != nil || tunnels.Load() == 0 {
		t.Errorf("%d tunnels: %v", tunnels.Load(), err)
	}
	_, err := proxied(t, good, proxy.URL).CallTool(t.Context(), "s", "echo", nil, nobody)
	wantKind(t, err, registry.KindUnavailable, registry.NotSent)

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var answered atomic.Int64
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go leak(tls.Server(conn, &tls.Config{Certificates: web.TLS.Certificates}), &answered)
		}
	}()
	bad := webServer("https://"+l.Addr().String()+"/mcp", rule("echo"))
	bad.HTTP.CAFile = good.HTTP.CAFile
	if _, err := proxied(t, bad, through).CallTool(t.Context(), "s", "echo", nil, nobody); err == nil || answered.Load() == 0 {
		t.Errorf("%d answers: %v", answered.Load(), err)
	}
	if strings.Contains(printed.String(), "s3cr3t") || strings.Contains(printed.String(), "Unsolicited") {
		t.Errorf("printed: %s", printed.String())
	}
}
