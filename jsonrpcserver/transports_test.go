package jsonrpcserver

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cupule/cupule/registry"
)

// listen opens an endpoint and serves it until the test ends.
func listen(t testing.TB, s *Server, e Endpoint) *Listener {
	t.Helper()
	l, err := s.Listen(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	serveListener(t, s, l)
	return l
}

func serveListener(t testing.TB, s *Server, l *Listener) {
	t.Helper()
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(hang):
			t.Error("Serve didn't return")
		}
	})
}

func dial(t testing.TB, l *Listener, headers bool) *client {
	t.Helper()
	conn, err := net.Dial(l.Addr().Network(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return newClient(t, conn, headers)
}

func socketPath(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

// TestCases plays every conversation over every transport and framing.
func TestCases(t *testing.T) {
	dials := map[string]func(t *testing.T, headers bool) *client{
		"unix": func(t *testing.T, headers bool) *client {
			return dial(t, listen(t, newServer(t, Backend{}, nil), Endpoint{Scheme: "unix", Address: socketPath(t)}), headers)
		},
		"tcp": func(t *testing.T, headers bool) *client {
			return dial(t, listen(t, newServer(t, Backend{}, nil), Endpoint{Scheme: "tcp", Address: "127.0.0.1:0", Anonymous: true}), headers)
		},
		"stdio": func(t *testing.T, headers bool) *client { return serveStdio(t, newServer(t, Backend{}, nil), headers) },
	}
	for name, open := range dials {
		for _, file := range caseFiles(t) {
			t.Run(name+"/"+filepath.Base(file), func(t *testing.T) {
				forEachFraming(t, func(t *testing.T, headers bool) {
					t.Parallel()
					open(t, headers).play(readCases(t, file))
				})
			})
		}
	}
}

// pipeConn is a net.Conn of two pipes.
type pipeConn struct {
	net.Conn // for the methods that nobody calls
	in       *os.File
	out      *os.File
}

func (p pipeConn) Read(b []byte) (int, error)         { return p.in.Read(b) }
func (p pipeConn) Write(b []byte) (int, error)        { return p.out.Write(b) }
func (p pipeConn) SetReadDeadline(t time.Time) error  { return p.in.SetReadDeadline(t) }
func (p pipeConn) SetWriteDeadline(t time.Time) error { return p.out.SetWriteDeadline(t) }
func (p pipeConn) CloseWrite() error                  { return p.out.Close() }
func (p pipeConn) Close() error {
	_ = p.out.Close()
	return p.in.Close()
}

// serveStdio serves on two pipes, as a child process is served on its stdin and stdout.
func serveStdio(t testing.TB, s *Server, headers bool) *client {
	t.Helper()
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.ServeStdio(t.Context(), inR, outW) }()
	t.Cleanup(func() {
		inW.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		inR.Close()
		outW.Close()
	})
	return newClient(t, pipeConn{in: outR, out: inW}, headers)
}

// slowPipe is the output of a process to a parent that takes a part each time, slowly, and
// at last nothing. It knows no deadlines.
type slowPipe struct {
	each  time.Duration
	parts int
	taken int
}

func (p *slowPipe) Write(b []byte) (int, error) {
	if p.parts--; p.parts < 0 {
		time.Sleep(time.Hour)
		return 0, io.ErrClosedPipe
	}
	time.Sleep(p.each)
	p.taken += len(b)
	return len(b), nil
}

// A parent may take long over a large reply, while it takes some of it now and then.
func TestStdioSlowParent(t *testing.T) {
	for name, test := range map[string]struct {
		parts   int
		stalled bool
	}{"steady": {100, false}, "stalled": {4, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				large := registry.Operation{Name: "large", MaxOutput: 8 << 20, Handler: func(context.Context, *registry.Call) (json.RawMessage, error) {
					return json.RawMessage("\"" + strings.Repeat("x", 4<<20) + "\""), nil
				}}
				out := &slowPipe{each: DefaultWriteTimeout - time.Second, parts: test.parts}
				in := strings.NewReader(`{"jsonrpc":"2.0","method":"large","id":1}` + "\n")
				err := newServer(t, Backend{Registry: newRegistry(t, large)}, nil).ServeStdio(t.Context(), in, out)
				if (err != nil) != test.stalled || (out.taken > 4<<20) == test.stalled {
					t.Errorf("%d bytes taken, %v", out.taken, err)
				}
				time.Sleep(2 * time.Hour) // the writer that is left behind ends
			})
		})
	}
}

// post sends one body and returns status, headers and body of the answer.
func post(t testing.TB, l *Listener, body string, header ...string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, "http://"+l.Addr().String()+"/rpc", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}
	return do(t, http.DefaultClient, req)
}

func do(t testing.TB, c *http.Client, req *http.Request) (int, http.Header, string) {
	t.Helper()
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

func TestCasesOverHTTP(t *testing.T) {
	for _, file := range caseFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			l := listen(t, newServer(t, Backend{}, nil), Endpoint{Scheme: "http", Address: "127.0.0.1:0", Anonymous: true})
			for _, x := range readCases(t, file) {
				status, header, body := post(t, l, x.send)
				switch x.want {
				case "none":
					if status != http.StatusNoContent || body != "" {
						t.Errorf("%s: status %d, %q", x.send, status, body)
					}
				default:
					if err := sameReply(x.want, body); err != nil {
						t.Error(err)
					}
					if header.Get("Content-Type") != "application/json" {
						t.Errorf("content type %q", header.Get("Content-Type"))
					}
				}
			}
		})
	}
}

func TestAdopt(t *testing.T) {
	s := newServer(t, Backend{}, nil)
	for _, scheme := range []string{"tcp", "http"} {
		open, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l, err := s.Adopt(open, Endpoint{Scheme: scheme, Anonymous: true})
		if err != nil {
			t.Fatal(err)
		}
		serveListener(t, s, l)
		if scheme == "tcp" {
			dial(t, l, false).call(callEcho, `{"jsonrpc":"2.0","result":null,"id":1}`)
		} else if status, _, body := post(t, l, callEcho); status != 200 {
			t.Error(status, body)
		}
	}
}
