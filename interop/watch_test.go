package interop

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"
)

// exchange is one request that went through a watch.
type exchange struct {
	Verb   string
	Header http.Header
	line
}

// watch stands in front of a web server and notes the requests that pass.
type watch struct {
	mu   sync.Mutex
	list []exchange
}

// startWatch returns a watch and the address to use instead of the one given.
func startWatch(t *testing.T, address string) (*watch, string) {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	w := &watch{}
	transport := &http.Transport{DisableKeepAlives: true}
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1, Transport: transport,
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: target.Scheme, Host: target.Host}) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.note(r)
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	return w, server.URL + target.Path
}

func (w *watch) note(r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	e := exchange{Verb: r.Method, Header: r.Header.Clone(), line: line{toServer: true, text: string(body)}}
	_ = json.Unmarshal(body, &e.line)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, e)
}

func (w *watch) exchanges() []exchange {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]exchange(nil), w.list...)
}

// await waits until the server has seen a message of this method.
func (w *watch) await(t *testing.T, method string) exchange {
	t.Helper()
	return w.find(t, method, func(e exchange) bool { return e.Method == method })
}

// verb waits until the server has seen a request with this verb.
func (w *watch) verb(t *testing.T, verb string) {
	t.Helper()
	w.find(t, verb, func(e exchange) bool { return e.Verb == verb })
}

func (w *watch) find(t *testing.T, what string, match func(exchange) bool) exchange {
	t.Helper()
	for end := time.Now().Add(guard); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		list := w.exchanges()
		if i := slices.IndexFunc(list, match); i >= 0 {
			return list[i]
		}
	}
	t.Fatalf("the server saw no %s", what)
	return exchange{}
}
