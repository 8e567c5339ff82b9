package mcpclient

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// tunnel opens connections through an HTTP proxy. Package http could do so itself, but then TLS
// would be its own too, and no gate could stand above it.
type tunnel struct {
	proxy   *url.URL
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	startup time.Duration
	trust   *tls.Config // of an https proxy, as of the server; may be nil
}

// open returns a connection to address.
func (t *tunnel) open(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, t.startup)
	defer cancel()
	conn, err := t.dial(ctx, network, t.proxyAddress())
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	through, err := t.connect(conn, address)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return through, nil
}

func (t *tunnel) proxyAddress() string {
	port := t.proxy.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[t.proxy.Scheme]
	}
	return net.JoinHostPort(t.proxy.Hostname(), port)
}

// connect asks the proxy for a connection to address.
func (t *tunnel) connect(conn net.Conn, address string) (net.Conn, error) {
	if t.proxy.Scheme == "https" {
		conn = overTLS(conn, t.trust, t.proxy.Hostname())
	}
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if u := t.proxy.User; u != nil {
		password, _ := u.Password()
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)))
	}
	if err := req.Write(conn); err != nil {
		return nil, err
	}
	in := bufio.NewReader(io.LimitReader(conn, maxHeaderBytes))
	resp, err := http.ReadResponse(in, req)
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the proxy answered with status %d", resp.StatusCode)
	case in.Buffered() > 0:
		return nil, fmt.Errorf("the proxy sent more than its answer")
	}
	return conn, nil
}
