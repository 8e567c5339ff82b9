package mcpclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/registry"
)

const (
	// maxHeaderBytes bounds the headers of a response.
	maxHeaderBytes = 64 << 10
	// idleConn is how long a connection waits to be used again: shorter than servers usually
	// wait, so that no request meets a connection that is being closed.
	idleConn = 3 * time.Second
	// maxCAFile bounds a file of roots to trust.
	maxCAFile = 1 << 20
)

// newTransport returns the carrier of one conversation. It speaks HTTP/1.1 only: one
// request is one exchange there, and a lost one is never sent again by the carrier itself.
func newTransport(s *config.Server, v *variables) (*http.Transport, error) {
	u, err := url.Parse(s.HTTP.URL)
	if err != nil {
		return nil, connectFailed(s, "its URL can't be read", err)
	}
	g := guard{host: u.Hostname(), plain: u.Scheme != "https"}
	t := &http.Transport{
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeaderBytes,
		MaxIdleConnsPerHost:    64, // as many as many callers use, or they would connect anew all the time
		IdleConnTimeout:        idleConn,
		Protocols:              new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	if s.HTTP.CAFile != "" {
		if t.TLSClientConfig, err = trust(s.HTTP.CAFile); err != nil {
			return nil, connectFailed(s, "its ca_file can't be used", err)
		}
	}
	if v.proxy != "" {
		proxy, err := proxyFor(u, v.proxy)
		if err != nil {
			return nil, connectFailed(s, "its proxy can't be used", err)
		}
		g = guard{host: proxy.Hostname()}
		t.DialContext = (&tunnel{proxy: proxy, dial: (&net.Dialer{Timeout: s.Startup, Control: g.control}).DialContext, startup: s.Startup, trust: t.TLSClientConfig}).open
	} else {
		t.DialContext = (&net.Dialer{Timeout: s.Startup, Control: g.control}).DialContext
	}
	gateConnections(t, u.Hostname(), s.Startup)
	return t, nil
}

// gateConnections puts a gate on each connection, above TLS.
func gateConnections(t *http.Transport, host string, startup time.Duration) {
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return newGate(conn), nil
	}
	t.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, startup)
		defer cancel()
		secure := overTLS(conn, t.TLSClientConfig, host)
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, err
		}
		return newGate(secure), nil
	}
}

// overTLS returns a client's end of TLS with this host. Trust may be nil.
func overTLS(conn net.Conn, trust *tls.Config, host string) *tls.Conn {
	settings := &tls.Config{}
	if trust != nil {
		settings = trust.Clone()
	}
	settings.ServerName, settings.NextProtos = host, []string{"http/1.1"}
	return tls.Client(conn, settings)
}

func connectFailed(s *config.Server, what string, err error) error {
	e := failure(registry.KindUnavailable, registry.NotSent, "server %s can't be connected to: %s", s.Alias, what)
	return because(e, err)
}

// proxyFor returns the proxy's URL. Its text is secret, so no error repeats it.
func proxyFor(target *url.URL, value secret) (*url.URL, error) {
	if target.Scheme != "https" {
		return nil, errors.New("a proxy is used for https only")
	}
	u, err := url.Parse(string(value))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the variable holds no URL like http://proxy.example.org:3128")
	}
	return u, nil
}

// trust returns a TLS configuration that trusts the roots of this file, and no others.
func trust(file string) (*tls.Config, error) {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() { // opening it could take for ever
		return nil, fmt.Errorf("%s is no regular file", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	pem, err := io.ReadAll(io.LimitReader(f, maxCAFile+1))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if len(pem) > maxCAFile || !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificates, or is larger than %d bytes", file, maxCAFile)
	}
	return &tls.Config{RootCAs: pool}, nil
}

// guard judges the addresses that a connection is about to be made to, when the name has
// been looked up: a name can lead anywhere.
type guard struct {
	host  string // of the URL
	plain bool   // without TLS: to loopback only
}

// errAddress says why an address is refused.
type errAddress struct{ addr, why string }

func (e *errAddress) Error() string {
	return fmt.Sprintf("the address %s is refused: %s", e.addr, e.why)
}

func (g guard) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return &errAddress{address, "it is no address"}
	}
	addr := at.Addr().WithZone("").Unmap()
	literal, err := netip.ParseAddr(g.host)
	literal = literal.WithZone("").Unmap()
	named := err == nil && (literal == addr || slices.Contains(within(addr), literal))
	switch {
	case g.plain && !addr.IsLoopback():
		return &errAddress{address, "without TLS only a loopback address is reached"}
	case !named && (unsafeAddr(addr) || slices.ContainsFunc(within(addr), leadsAstray)):
		return &errAddress{address, "it is a link-local, metadata or unspecified address, which a URL must name itself"}
	}
	return nil
}

// Prefixes under which IPv6 addresses stand for IPv4 ones.
var (
	compatible = netip.MustParsePrefix("::/96")          // RFC 4291, of old
	nat64      = netip.MustParsePrefix("64:ff9b::/96")   // RFC 6052
	localNAT64 = netip.MustParsePrefix("64:ff9b:1::/48") // RFC 8215
	sixToFour  = netip.MustParsePrefix("2002::/16")      // RFC 3056
	teredo     = netip.MustParsePrefix("2001::/32")      // RFC 4380
)

// within returns the IPv4 addresses that an IPv6 address may lead to.
func within(addr netip.Addr) []netip.Addr {
	b := addr.As16()
	v4 := func(a, b, c, d byte) netip.Addr { return netip.AddrFrom4([4]byte{a, b, c, d}) }
	switch {
	case compatible.Contains(addr), nat64.Contains(addr):
		return []netip.Addr{v4(b[12], b[13], b[14], b[15])}
	case localNAT64.Contains(addr):
		// Its networks choose where the address stands, after RFC 6052.
		return []netip.Addr{v4(b[6], b[7], b[9], b[10]), v4(b[7], b[9], b[10], b[11]), v4(b[9], b[10], b[11], b[12]), v4(b[12], b[13], b[14], b[15])}
	case sixToFour.Contains(addr):
		return []netip.Addr{v4(b[2], b[3], b[4], b[5])}
	case teredo.Contains(addr):
		return []netip.Addr{v4(b[4], b[5], b[6], b[7]), v4(^b[12], ^b[13], ^b[14], ^b[15])}
	}
	return nil
}

// metadata are the addresses beside link-local ones where clouds hand out credentials.
var metadata = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"),
	netip.MustParseAddr("100.100.100.200"),
	netip.MustParseAddr("168.63.129.16"),
	netip.MustParseAddr("192.0.0.192"),
}

// leadsAstray is unsafeAddr for an address within another one, where all zeros mean that there is
// none.
func leadsAstray(addr netip.Addr) bool { return !addr.IsUnspecified() && unsafeAddr(addr) }

func unsafeAddr(addr netip.Addr) bool {
	if addr.IsLinkLocalUnicast() || addr.IsMulticast() || addr.IsUnspecified() {
		return true
	}
	for _, m := range metadata {
		if addr == m {
			return true
		}
	}
	return false
}
