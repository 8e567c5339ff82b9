package mcpclient

import (
	"bufio"
	"encoding/pem"
	"fmt"
	"io"
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

func TestGuard(t *testing.T) {
	for _, row := range []struct {
		host    string
		plain   bool
		address string
		ok      bool
	}{
		{"localhost", true, "127.0.0.1:80", true},
		{"localhost", true, "[::1]:80", true},
		{"localhost", true, "[::ffff:127.0.0.1]:80", true},
		{"localhost", true, "192.0.2.1:80", false},
		{"localhost", true, "10.0.0.1:80", false},
		{"localhost", true, "0.0.0.0:80", false},
		{"example.org", false, "192.0.2.1:443", true},
		{"example.org", false, "10.0.0.1:443", true},
		{"example.org", false, "127.0.0.1:443", true},
		{"example.org", false, "169.254.169.254:443", false},
		{"example.org", false, "[fe80::1%eth0]:443", false},
		{"example.org", false, "[::ffff:169.254.169.254]:443", false},
		{"example.org", false, "[64:ff9b::a9fe:a9fe]:443", false},
		{"example.org", false, "[fd00:ec2::254]:443", false},
		{"example.org", false, "100.100.100.200:443", false},
		{"example.org", false, "168.63.129.16:443", false},
		{"example.org", false, "0.0.0.0:443", false},
		{"example.org", false, "224.0.0.1:443", false},
		{"localhost", true, "[64:ff9b::7f00:1]:80", false},
		{"localhost", true, "[64:ff9b:1::7f00:1]:80", false},
		{"localhost", true, "[2002:7f00:1::]:80", false},
		{"localhost", true, "[::127.0.0.1]:80", false},
		{"64:ff9b::7f00:1", true, "[64:ff9b::7f00:1]:80", false},
		{"example.org", false, "[64:ff9b::c000:201]:443", true},
		{"example.org", false, "[64:ff9b:1::c000:201]:443", true},
		{"example.org", false, "[64:ff9b:1::a9fe:a9fe]:443", false},
		{"example.org", false, "[64:ff9b:1:a9fe:a9:fe00::]:443", false},
		{"example.org", false, "[64:ff9b:1:1a9:fe:a9fe::]:443", false},
		{"example.org", false, "[64:ff9b:1:1:a9:fea9:fe00:0]:443", false},
		{"example.org", false, "[2002:a9fe:a9fe::1]:443", false},
		{"example.org", false, "[2002:c000:201::1]:443", true},
		{"example.org", false, "[2001:0:a9fe:a9fe::]:443", false},
		{"example.org", false, "[2001:0:c000:201:0:0:5601:5601]:443", false},
		{"example.org", false, "[::169.254.169.254]:443", false},
		{"example.org", false, "[::100.100.100.200]:443", false},
		{"example.org", false, "[::]:443", false},
		{"example.org", false, "[::1]:443", true},
		{"example.org", false, "[ff02::1]:443", false},
		{"64:ff9b::a9fe:a9fe", false, "[64:ff9b::a9fe:a9fe]:443", true},
		{"169.254.169.254", false, "[64:ff9b::a9fe:a9fe]:443", true},
		{"169.254.169.254", false, "169.254.169.254:443", true},
		{"169.254.169.254", true, "169.254.169.254:80", false},
		{"169.254.1.1", false, "169.254.169.254:443", false},
		{"fe80::1", false, "[fe80::1%eth0]:443", true},
		{"example.org", false, "nonsense", false},
	} {
		err := guard{host: row.host, plain: row.plain}.control("tcp", row.address, nil)
		if (err == nil) != row.ok {
			t.Errorf("%s of %s, plain %v: %v", row.address, row.host, row.plain, err)
		}
	}
}

// TestPlainHTTPOffLoopback refuses by the address, whatever the URL looks like.
func TestPlainHTTPOffLoopback(t *testing.T) {
	c := newClient(t, map[string]*config.Server{"web": webServer("http://192.0.2.1:9/mcp", rule("echo"))})
	_, err := c.CallTool(t.Context(), "web", "echo", nil, nobody)
	e := wantKind(t, err, registry.KindUnavailable, registry.NotSent)
	if e.Phase != phaseConnect || !strings.Contains(e.Message, "loopback") {
		t.Errorf("%s: %v", e.Phase, e)
	}
}

func TestRefusedConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	c := newClient(t, map[string]*config.Server{"web": webServer("http://"+l.Addr().String(), rule("echo"))})
	_, err = c.CallTool(t.Context(), "web", "echo", nil, nobody)
	if e := wantKind(t, err, registry.KindUnavailable, registry.NotSent); e.Phase != phaseConnect {
		t.Errorf("%s: %v", e.Phase, e)
	}
}

// TestTLS trusts a certificate by its file, and none without.
func TestTLS(t *testing.T) {
	web := mcptest.Good().HTTPS(t)
	file := filepath.Join(t.TempDir(), "roots.pem")
	transport := web.Client().Transport.(*http.Transport)
	var roots []byte
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(web.URL, "https://"), "/mcp"))
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	resp, err := transport.RoundTrip(httptest.NewRequest(http.MethodGet, web.URL, nil))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	for _, cert := range resp.TLS.PeerCertificates {
		roots = append(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})...)
	}
	if err := os.WriteFile(file, roots, 0o600); err != nil {
		t.Fatal(err)
	}
	trusting, other, broken := webServer(web.URL, rule("echo")), webServer(web.URL, rule("echo")), webServer(web.URL, rule("echo"))
	trusting.HTTP.CAFile, broken.HTTP.CAFile = file, filepath.Join(t.TempDir(), "missing.pem")
	c := newClient(t, map[string]*config.Server{"trusting": trusting, "other": other, "broken": broken})
	if _, err := c.CallTool(t.Context(), "trusting", "echo", nil, nobody); err != nil {
		t.Error(err)
	}
	for _, server := range []string{"other", "broken"} {
		_, err := c.CallTool(t.Context(), server, "echo", nil, nobody)
		wantKind(t, err, registry.KindUnavailable, registry.NotSent)
	}
}

// TestProxy reaches an https server through a proxy, and never takes one from the environment.
func TestHTTPProxy(t *testing.T) {
	var tunnels atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tunnels.Add(1)
		if r.Method != http.MethodConnect || r.Header.Get("Authorization") != "" {
			t.Errorf("the proxy got %s with %v", r.Method, r.Header)
		}
		http.Error(w, "no", http.StatusForbidden)
	}))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	through, plain := webServer("https://example.org/mcp", rule("echo")), scriptedServer(t, true, mcptest.Good(), rule("echo"))
	through.HTTP.ProxyEnv, through.HTTP.BearerTokenEnv = "PROXY", "TOKEN"
	plain.HTTP.BearerTokenEnv = "TOKEN"
	insecure := webServer(plain.HTTP.URL, rule("echo"))
	insecure.HTTP.ProxyEnv = "PROXY"
	c, err := New(&config.Config{MCP: map[string]*config.Server{"through": through, "plain": plain.Server, "insecure": insecure}}, &Options{
		LookupEnv: func(name string) (string, bool) {
			if name == "PROXY" {
				return proxy.URL, true
			}
			return "s3cr3t-value", true
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.CallTool(t.Context(), "plain", "echo", nil, nobody); err != nil || tunnels.Load() != 0 {
		t.Errorf("%d tunnels, %v", tunnels.Load(), err)
	}
	_, err = c.CallTool(t.Context(), "insecure", "echo", nil, nobody)
	wantKind(t, err, registry.KindUnavailable, registry.NotSent)
	_, err = c.CallTool(t.Context(), "through", "echo", nil, nobody)
	wantKind(t, err, registry.KindUnavailable, registry.NotSent)
	if tunnels.Load() == 0 {
		t.Error("the proxy was not used")
	}
}

// TestCredentialsStayHome redirects a call with credentials to another server.
func TestCredentialsStayHome(t *testing.T) {
	web := mcptest.Good().With(call(mcptest.RedirectOther)...).HTTP(t)
	s := webServer(web.URL, rule("echo"))
	s.HTTP.BearerTokenEnv, s.HTTP.HeadersEnv = "TOKEN", map[string]string{"X-Tenant": "TOKEN"}
	c := newClient(t, map[string]*config.Server{"web": s})
	_, err := c.CallTool(t.Context(), "web", "echo", nil, nobody)
	wantKind(t, err, registry.KindUpstreamError, registry.Completed)
	if n := len(web.Elsewhere.Record()); n != 0 {
		t.Errorf("the other server got %d requests", n)
	}
	for _, e := range web.Record().Of(mcptest.Received) {
		if e.Header.Get("Authorization") != "Bearer s3cr3t-value" || e.Header.Get("X-Tenant") != "s3cr3t-value" || e.Header.Get("Cookie") != "" {
			t.Errorf("%s %s: %v", e.HTTP, e.Method, e.Header)
		}
	}
}

// TestConnectionIsUsedAgain keeps one connection for a whole operation, behind event streams too.
func TestConnectionIsUsedAgain(t *testing.T) {
	var conns atomic.Int32
	script := mcptest.Good()
	script.Events, script.Stateless = true, true
	web := script.HTTP(t)
	front := httptest.NewUnstartedServer(http.HandlerFunc(web.ServeHTTP))
	front.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	front.Start()
	defer front.Close()
	c := newClient(t, map[string]*config.Server{"web": webServer(front.URL+"/mcp", rule("echo"))})
	if _, err := c.CallTool(t.Context(), "web", "echo", nil, nobody); err != nil {
		t.Fatal(err)
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// TestBrokenBeforeSending has a server that accepts connections and closes them at once.
func TestBrokenBeforeSending(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var requests atomic.Int32
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if req, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				body, _ := io.ReadAll(req.Body)
				if strings.Contains(string(body), "tools/call") {
					requests.Add(1)
				}
			}
			_ = conn.Close()
		}
	}()
	s := webServer(fmt.Sprintf("http://%s/", l.Addr()), rule("echo"))
	c := newClient(t, map[string]*config.Server{"web": s})
	_, err = c.CallTool(t.Context(), "web", "echo", nil, nobody)
	wantKind(t, err, registry.KindUnavailable, registry.NotSent)
	if requests.Load() != 0 {
		t.Errorf("%d calls", requests.Load())
	}
}
