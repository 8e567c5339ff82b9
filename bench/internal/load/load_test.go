package load

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cupule/cupule/bench/internal/echo"
	"github.com/cupule/cupule/bench/internal/measure"
)

const text = "hello"

func request() echo.Request { return echo.ByName("m", text) }

// pair returns a stream of callers, and the server's end of its connection.
func pair(t *testing.T, framing Framing, callers int) (*Stream, net.Conn) {
	t.Helper()
	client, server := net.Pipe()
	s := NewStream(client, framing, callers, request(), echo.Result(text))
	t.Cleanup(func() { _ = s.Close(); _ = server.Close() })
	return s, server
}

func result(id int, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"text":%q}}`, id, text)
}

func TestRepliesAreMatchedByID(t *testing.T) {
	s, server := pair(t, Newline, 3)
	go func() {
		in := bufio.NewScanner(server)
		for {
			var replies []string
			for range 3 {
				if !in.Scan() {
					return
				}
				replies = append([]string{result(idOf(in.Bytes()), text)}, replies...)
			}
			_, _ = io.WriteString(server, strings.Join(replies, "\n")+"\n")
		}
	}()
	if _, err := s.Run(measure.Load{Callers: 3, Calls: 3}); err != nil {
		t.Error(err)
	}
}

func TestContentLength(t *testing.T) {
	s, server := pair(t, ContentLength, 1)
	go func() {
		in := reader{bufio.NewReader(server), nil}
		for {
			message, err := in.next(ContentLength)
			if err != nil {
				return
			}
			reply := result(idOf(message), text)
			_, _ = fmt.Fprintf(server, "Content-Type: x\r\nContent-Length: %d\r\n\r\n%s", len(reply), reply)
		}
	}()
	if _, err := s.Run(measure.Load{Callers: 1, Calls: 10}); err != nil {
		t.Error(err)
	}
}

func TestWrongRepliesFail(t *testing.T) {
	for _, test := range []struct{ name, reply, want string }{
		{"another text", result(1, "other") + "\n", "brought back"},
		{"an error", `{"id":1,"error":{}}` + "\n", "brought back"},
		{"nobody's id", result(9, text) + "\n", "to nobody"},
		{"no id", `{"result":{}}` + "\n", "to nobody"},
		{"no reply", "", "the other side has ended: EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, server := pair(t, Newline, 1)
			go func() {
				_, _ = bufio.NewReader(server).ReadBytes('\n')
				_, _ = io.WriteString(server, test.reply)
				_ = server.Close()
			}()
			if _, err := s.Run(measure.Load{Callers: 1, Calls: 2}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}

// deaf is a connection to a peer that reads everything and never answers.
func deaf() net.Conn {
	client, server := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, server) }()
	return client
}

func TestASilentPeerIsNamedSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := deaf()
		over := &HTTP{callers: []httpCaller{{conn: conn, in: bufio.NewReader(conn), frame: []byte("x")}}}
		streamed := NewStream(deaf(), Newline, 1, request(), echo.Result(text))
		for name, d := range map[string]interface {
			Run(measure.Load) (time.Duration, error)
			Close() error
		}{"a stream": streamed, "over HTTP": over} {
			if _, err := d.Run(measure.Load{Callers: 1, Calls: 1}); err == nil || err.Error() != "no answer within 1m0s" {
				t.Errorf("%s: %v", name, err)
			}
			_ = d.Close()
		}
	})
}

func TestALaterReplyIsVerifiedToo(t *testing.T) {
	s, server := pair(t, Newline, 1)
	go func() {
		in := bufio.NewReader(server)
		for _, reply := range []string{text, text, "other"} {
			_, _ = in.ReadBytes('\n')
			_, _ = io.WriteString(server, result(1, reply)+"\n")
		}
	}()
	if _, err := s.Run(measure.Load{Callers: 1, Calls: 2}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(measure.Load{Callers: 1, Calls: 1}); err == nil {
		t.Error("a wrong text was taken")
	}
}

func TestTwoRepliesToOneCallFail(t *testing.T) {
	c := caller{reply: make(chan error, 1)}
	reply := []byte(result(1, text))
	if !c.take(reply, echo.Result(text)) || c.take(reply, echo.Result(text)) {
		t.Error("a second reply was taken")
	}
}

func TestIDOf(t *testing.T) {
	for reply, want := range map[string]int{
		`{"id":7,"result":1}`:                    7,
		`{"result":"\"id\":8,","id": 9}`:         9,
		`{"jsonrpc":"2.0","result":{},"id":12 }`: 12,
		`{"id":"x"}`:                             0,
		`{"id":null,"error":{}}`:                 0,
		`{"id":5`:                                0,
		`{}`:                                     0,
		`{"id":18446744073709551616,"result":null}`: 0,
	} {
		if got := idOf([]byte(reply)); got != want {
			t.Errorf("%s: %d, want %d", reply, got, want)
		}
	}
}

func TestReaderTakesLongLines(t *testing.T) {
	long := strings.Repeat("x", 1000)
	r := reader{bufio.NewReaderSize(strings.NewReader("a\n"+long+"\nb\r\n"), 16), nil}
	for _, want := range []string{"a", long, "b"} {
		if got, err := r.next(Newline); err != nil || string(got) != want {
			t.Errorf("%.20q, %v; want %.20q", got, err, want)
		}
	}
	if _, err := r.next(Newline); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func TestReaderWantsALength(t *testing.T) {
	for _, text := range []string{"\r\n{}", "Content-Length: x\r\n\r\n{}", "Content-Length: 3\r\n\r\n{}"} {
		r := reader{bufio.NewReader(strings.NewReader(text)), nil}
		if got, err := r.next(ContentLength); err == nil {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestHTTP(t *testing.T) {
	for _, test := range []struct {
		name  string
		reply string
		code  int
		fails bool
	}{{"right", text, 200, false}, {"wrong", "other", 200, true}, {"refused", text, 500, true}} {
		t.Run(test.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if r.URL.Path != "/rpc" || !bytes.Contains(body, []byte(`"method":"m"`)) {
					t.Errorf("%s %s", r.URL, body)
				}
				w.WriteHeader(test.code)
				_, _ = io.WriteString(w, result(idOf(body), test.reply))
			}))
			defer s.Close()
			h, err := DialHTTP(s.Listener.Addr().String(), "/rpc", 4, request(), echo.Result(text))
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			if _, err := h.Run(measure.Load{Callers: 4, Calls: 20}); (err != nil) != test.fails {
				t.Error(err)
			}
		})
	}
}
