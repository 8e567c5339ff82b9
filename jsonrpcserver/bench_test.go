package jsonrpcserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cupule/cupule/registry"
)

var benchText = strings.Repeat("abcdefgh", 25)

// socketPair returns both ends of a unix connection.
func socketPair(t testing.TB) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err = net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

// BenchmarkEcho compares with a loop written for it on encoding/json, driven by one client.
func BenchmarkEcho(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("loop/c%d", callers), func(b *testing.B) {
			client, server := socketPair(b)
			go echoLoop(server)
			drive(b, client, callers)
		})
		b.Run(fmt.Sprintf("server/c%d", callers), func(b *testing.B) {
			type echo struct {
				Text string `json:"text"`
			}
			reg, err := registry.New([]registry.Operation{registry.Typed(registry.Operation{Name: "echo"},
				func(_ context.Context, _ *registry.Call, p echo) (echo, error) { return p, nil })}, nil)
			if err != nil {
				b.Fatal(err)
			}
			benchServer(b, reg, callers)
		})
		b.Run(fmt.Sprintf("raw/c%d", callers), func(b *testing.B) {
			benchServer(b, newRegistry(b), callers)
		})
	}
}

func benchServer(b *testing.B, reg *registry.Registry, callers int) {
	s := newServer(b, Backend{Registry: reg}, nil)
	client, server := socketPair(b)
	go func() { _ = s.ServeConn(b.Context(), server, &ConnOptions{Caller: LocalCaller}) }()
	drive(b, client, callers)
	client.Close()
}

func echoLoop(s net.Conn) {
	in := bufio.NewReaderSize(s, 64<<10)
	var out []byte
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		var r struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		var p struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(line, &r) != nil || json.Unmarshal(r.Params, &p) != nil {
			return
		}
		result, _ := json.Marshal(p)
		out = append(append(append(out[:0], `{"jsonrpc":"2.0","id":`...), r.ID...), `,"result":`...)
		out = append(append(out, result...), "}\n"...)
		if _, err := s.Write(out); err != nil {
			return
		}
	}
}

// drive runs b.N calls from a number of callers over one connection.
func drive(b *testing.B, conn net.Conn, callers int) {
	replies := make([]chan struct{}, callers)
	for i := range replies {
		replies[i] = make(chan struct{}, 1)
	}
	go func() {
		in := bufio.NewReaderSize(conn, 64<<10)
		for {
			line, err := in.ReadSlice('\n')
			if err != nil {
				return
			}
			id := 0
			_, rest, _ := bytes.Cut(line, []byte(`"id":`))
			for _, c := range rest {
				if c < '0' || c > '9' {
					break
				}
				id = id*10 + int(c-'0')
			}
			replies[id] <- struct{}{}
		}
	}()
	var write sync.Mutex
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for i := range callers {
		request := []byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"echo","params":{"text":"%s"}}`+"\n", i, benchText))
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				write.Lock()
				_, err := conn.Write(request)
				write.Unlock()
				if err != nil {
					b.Error(err)
					return
				}
				<-replies[i]
			}
		})
	}
	wg.Wait()
	b.StopTimer()
}

// BenchmarkHTTP compares with a plain handler on encoding/json.
func BenchmarkHTTP(b *testing.B) {
	body := `{"jsonrpc":"2.0","id":1,"method":"echo","params":{"text":"` + benchText + `"}}`
	b.Run("plain", func(b *testing.B) {
		web := httptest.NewServer(http.HandlerFunc(echoHTTP))
		defer web.Close()
		driveHTTP(b, web.URL+"/rpc", body)
	})
	b.Run("server", func(b *testing.B) {
		_, l := httpListener(b, Backend{}, nil, nil)
		driveHTTP(b, "http://"+l.Addr().String()+"/rpc", body)
	})
}

func driveHTTP(b *testing.B, url, body string) {
	defer http.DefaultClient.CloseIdleConnections()
	b.ReportAllocs()
	for b.Loop() {
		resp, err := http.Post(url, "application/json", strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

func echoHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		ID     int64           `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	var params struct {
		Text string `json:"text"`
	}
	data, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(data, &request) != nil || json.Unmarshal(request.Params, &params) != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	out, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": request.ID, "result": params})
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(out)
}
