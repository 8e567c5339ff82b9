package jsonrpcserver

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"testing"
)

// A request that is refused unread leaves an HTTP/2 connection to the others on it.
func TestHTTP2OutlivesRefusals(t *testing.T) {
	forEachVersion(t, func(t *testing.T, version string, c *http.Client, post func(context.Context, string) *http.Request, _ *gate) {
		if version != "HTTP/2.0" {
			return
		}
		opened := 0
		trace := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
			if !got.Reused {
				opened++
			}
		}})
		for _, change := range []func(*http.Request){
			func(*http.Request) {},
			func(r *http.Request) { r.Header.Set("Authorization", "Bearer wrong") },
			func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") },
			func(r *http.Request) { r.Header.Set("Origin", "https://elsewhere.example") },
			func(r *http.Request) { r.ContentLength = -1 },
			func(r *http.Request) { r.Method = http.MethodPut },
			func(*http.Request) {},
		} {
			req := post(trace, callEcho)
			change(req)
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		if opened != 1 {
			t.Errorf("%d connections", opened)
		}
	})
}
