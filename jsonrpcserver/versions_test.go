package jsonrpcserver

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// asker posts a body and returns the answer's, or the error.
type asker func(ctx context.Context, body, accept string) string

// forEachVersionOf serves a backend over TLS, to clients of each version of HTTP.
func forEachVersionOf(t *testing.T, b Backend, opts *Options, f func(t *testing.T, ask asker)) {
	t.Helper()
	for _, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(version, func(t *testing.T) {
			server, trusting := certificate(t)
			s, l := httpListener(t, b, opts, func(e *Endpoint) { e.Scheme, e.TLS = "https", server })
			var protocols http.Protocols
			protocols.SetHTTP1(version == "HTTP/1.1")
			protocols.SetHTTP2(version == "HTTP/2.0")
			transport := &http.Transport{TLSClientConfig: trusting, Protocols: &protocols}
			f(t, func(ctx context.Context, body, accept string) string {
				req, _ := http.NewRequestWithContext(ctx, "POST", "https://"+l.Addr().String()+"/rpc", strings.NewReader(body))
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("Accept", accept)
				resp, err := transport.RoundTrip(req)
				if err != nil {
					return err.Error()
				}
				defer resp.Body.Close()
				if resp.Proto != version {
					t.Error(resp.Proto)
				}
				answer, err := io.ReadAll(resp.Body)
				if err != nil {
					return string(answer) + err.Error()
				}
				return string(answer)
			})
			transport.CloseIdleConnections()
			settles(t, s, 0)
		})
	}
}
