package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cupule/cupule/registry"
	"github.com/sourcegraph/jsonrpc2"
)

// answering serves one reply over HTTP and keeps what it was asked.
func answering(t *testing.T, reply func(w http.ResponseWriter)) (address string, asked func() (header http.Header, body string)) {
	t.Helper()
	var mu sync.Mutex // guards what follows
	var header http.Header
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		mu.Lock()
		header, body = r.Header, sent
		mu.Unlock()
		reply(w)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/rpc", func() (http.Header, string) {
		mu.Lock()
		defer mu.Unlock()
		return header, string(body)
	}
}

func text(status int, body string) func(w http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func TestCallsOverHTTP(t *testing.T) {
	for _, test := range []struct {
		name  string
		reply func(w http.ResponseWriter)
		code  int
		words []string
	}{
		{"a result", text(200, `{"jsonrpc":"2.0","id":2,"result":{"n":9007199254740993}}`), 0, []string{`{"n":9007199254740993}`}},
		{"an error result", text(200, `{"jsonrpc":"2.0","id":2,"result":{"isError":true}}`), 1, []string{`{"isError":true}`}},
		{"an application's error", text(200, `{"jsonrpc":"2.0","id":2,"error":{"code":7,"message":"own\u001b[2J"}}`), 1, []string{"application: own\ufffd[2J (code 7)"}},
		{"a kind", text(200, `{"jsonrpc":"2.0","id":2,"error":{"code":-32004,"message":"m","data":{"kind":"timeout","phase":"call","ran":"sent","limit":{"name":"timeout","seconds":2,"whose":"tool s/t"}}}}`), 4,
			[]string{"timeout: m (code -32004)", "limit: timeout 2s of tool s/t", "phase: call", "ran: sent"}},
		{"a kind of another code", text(200, `{"jsonrpc":"2.0","id":2,"error":{"code":-32001,"message":"m","data":{"kind":"timeout"}}}`), 1, []string{"application: m (code -32001)"}},
		{"wrong parameters", text(200, `{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"m","data":{"kind":"invalid_params","problems":[{"path":"/a","message":"wrong"}]}}}`), 2, []string{`at "/a": wrong`}},
		{"all reasons", text(200, `{"jsonrpc":"2.0","id":2,"error":{"code":-32001,"message":"denied: first","data":{"kind":"denied","ran":"not_sent","reasons":[
			{"effect":"mutation","rule":"needs_authorization","subject":"operation op"},
			{"effect":"inference","rule":"outside_operation","subject":"tool s/t","operation":"op"},
			{"rule":"offline","subject":"streamable HTTP transport s"},
			{"rule":"not_among_callers_operations","subject":"operation op"},
			{"effect":"time_travel","rule":"needs_authorization","subject":"operation op"},
			{"effect":"mutation","rule":"new\u001b_rule","subject":"moon phase"}]}}}`), 3,
			[]string{"cupule: denied: first (code -32001)\n" +
				"  needs_authorization: operation op has the effect mutation, which the caller is not authorized for\n" +
				"  outside_operation: tool s/t has the effect inference, which operation op does not declare\n" +
				"  offline: streamable HTTP transport s is unavailable offline\n" +
				"  not_among_callers_operations: operation op is not among the operations of this caller\n" +
				"  needs_authorization: operation op time_travel\n" +
				"  new\ufffd_rule: moon phase mutation\n  ran: not_sent\n"}},
		{"another id", text(200, `{"jsonrpc":"2.0","id":77,"result":1}`), 5, []string{"upstream_error", "no JSON-RPC response to the call"}},
		{"an id that looks alike", text(200, `{"jsonrpc":"2.0","id":"2","result":1}`), 5, []string{"upstream_error"}},
		{"a result without an id", text(200, `{"jsonrpc":"2.0","id":null,"result":1}`), 5, []string{"upstream_error"}},
		{"an error without an id", text(200, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`), 5, []string{"parse_error: m"}},
		{"another's error", text(200, `{"jsonrpc":"2.0","id":3,"error":{"code":7,"message":"m"}}`), 5, []string{"upstream_error"}},
		{"a request", text(200, `{"jsonrpc":"2.0","id":2,"method":"op"}`), 5, []string{"upstream_error"}},
		{"another version", text(200, `{"jsonrpc":"1.0","id":2,"result":1}`), 5, []string{"upstream_error"}},
		{"the token in an error", text(200, `{"jsonrpc":"2.0","id":2,"error":{"code":7,"message":"you sent s3cret-token","data":"s3cret-token"}}`), 1, []string{"application: you sent [redacted]"}},
		{"a standard code", text(200, `{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"m"}}`), 2, []string{"method_not_found: m"}},
		{"an internal error", text(200, `{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"m"}}`), 5, []string{"internal: m"}},
		{"a proxy's 401", text(401, `no`), 3, []string{"unauthenticated: the reply, with HTTP status 401", "ran: sent"}},
		{"a proxy's 503", text(503, ``), 4, []string{"unavailable", "HTTP status 503", "ran: sent"}},
		{"a proxy's 429", text(429, ``), 4, []string{"overloaded"}},
		{"another path", text(404, `{"error":"x"}`), 5, []string{"It is /rpc where nothing else is configured"}},
		{"HTML", text(500, `<html>`), 5, []string{"upstream_error", "HTTP status 500", "ran: sent"}},
		{"nothing", text(204, ``), 5, []string{"HTTP status 204"}},
		{"elsewhere", func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(307)
		}, 5, []string{"HTTP status 307"}},
		{"cut off", func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "{")
		}, 5, []string{"outcome_unknown", "ran: sent"}},
	} {
		address, asked := answering(t, test.reply)
		got := runHere(t, false, map[string]string{"TOKEN": "s3cret-token"}, "invoke", "op", `{"a":1.0}`, "--connect", address, "--token-env", "TOKEN")
		got.holds(t, test.name, test.code, test.words...)
		header, body := asked()
		if header.Get("Authorization") != "Bearer s3cret-token" || body != `{"jsonrpc":"2.0","id":2,"method":"op","params":{"a":1.0}}` {
			t.Errorf("%s: asked %v %s", test.name, header, body)
		}
		if strings.Contains(got.out+got.talk, "s3cret") {
			t.Errorf("%s: the token is told", test.name)
		}
	}
}

// With -o json what a served registry answers goes on as it came, but on one line.
func TestRemoteErrorsAsJSON(t *testing.T) {
	for _, test := range []struct {
		reply string
		code  int
		want  string
	}{
		{`{"code":7,"message":"own","data":{"b":1.0,"a":[1]}}`, 1, `{"error":{"code":7,"message":"own","data":{"b":1.0,"a":[1]}}}`},
		{`{"code":7,"message":"own"}`, 1, `{"error":{"code":7,"message":"own"}}`},
		{`{"code":-32001,"message":"m\u0085","data":{"kind":"denied",` + "\n" + `"reasons":[{"rule":"offline","subject":"x"}]}}`, 3, `{"error":{"code":-32001,"message":"m` + "\ufffd" + `","data":{"kind":"denied","reasons":[{"rule":"offline","subject":"x"}]}}}`},
	} {
		address, _ := answering(t, text(200, `{"jsonrpc":"2.0","id":2,"error":`+test.reply+`}`))
		got := runHere(t, false, nil, "invoke", "op", "-o", "json", "--connect", address)
		if got.code != test.code || got.talk != test.want+"\n" || got.out != "" {
			t.Errorf("%s: exit code %d, %q, %q, want %s", test.reply, got.code, got.talk, got.out, test.want)
		}
	}
}

func TestConnectionsThatFail(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	l.Close()
	server := httptest.NewServer(http.NotFoundHandler()) // no TLS, so nothing is ever sent
	defer server.Close()
	plain := server.Listener
	for _, test := range []struct {
		address string
		code    int
		words   []string
	}{
		{"http://" + closed + "/rpc", 4, []string{"unavailable", "no connection to http://" + closed, "ran: not_sent"}},
		{"tcp:" + closed, 4, []string{"unavailable", "ran: not_sent"}},
		{"tls:" + closed, 4, []string{"unavailable", "ran: not_sent"}},
		{"http://example.org/rpc", 2, []string{"over https only"}},
		{"HTTP://" + closed + "/rpc", 4, []string{"unavailable", "ran: not_sent"}},
		{"http://user:pass@" + closed + "/rpc", 2, []string{"name that with --token-env"}},
		{"https://" + plain.Addr().String() + "/rpc", 4, []string{"unavailable", "ran: not_sent"}},
		{"http:///rpc", 2, []string{"no URL with a host"}},
		{"https://%zz/", 2, []string{"no URL with a host"}},
		{"tcp:example", 2, []string{"write tcp:HOST:PORT"}},
		{"example.org", 2, []string{"write unix:PATH"}},
	} {
		runHere(t, false, map[string]string{"TOKEN": "x"}, "invoke", "op", "--connect", test.address, "--token-env", "TOKEN").
			holds(t, test.address, test.code, test.words...)
	}
}

func TestTokensThatNoHeaderTakes(t *testing.T) {
	address, asked := answering(t, text(200, ``))
	runHere(t, false, map[string]string{"TOKEN": "a\r\nX: y"}, "invoke", "op", "--connect", address, "--token-env", "TOKEN").
		holds(t, "a line break", 2, "the variable TOKEN holds a line break")
	if header, _ := asked(); header != nil {
		t.Errorf("asked %v", header)
	}
}

// What a peer on a stream sends has to be JSON-RPC 2.0 to the letter, too.
func TestStreamsThatAreNoJSONRPC(t *testing.T) {
	for name, reply := range map[string]string{
		"another version":   `{"jsonrpc":"1.0","id":2,"result":1}`,
		"no version":        `{"id":2,"result":1}`,
		"a key twice":       `{"jsonrpc":"2.0","id":2,"result":1,"result":2}`,
		"a folded key":      `{"jsonrpc":"2.0","id":2,"Result":1}`,
		"result and error":  `{"jsonrpc":"2.0","id":2,"result":1,"error":{"code":1,"message":"m"}}`,
		"another id":        `{"jsonrpc":"2.0","id":77,"result":1}`,
		"an id as a string": `{"jsonrpc":"2.0","id":"2","result":1}`,
		"invalid UTF-8":     "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"\xff\"}",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			defer l.Close()
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			if _, err := bufio.NewReader(conn).ReadString('\n'); err == nil {
				fmt.Fprintln(conn, reply)
			}
		}()
		runHere(t, false, nil, "invoke", "op", "--connect", "tcp:"+l.Addr().String()).holds(t, name, 5, "outcome_unknown: no answer came", "ran: sent")
	}
}

// Where rpc.authenticate isn't answered, the call itself was never sent.
func TestAuthenticationWithoutAnswer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer l.Close()
		if conn, err := l.Accept(); err == nil {
			_, _ = bufio.NewReader(conn).ReadString('\n')
			conn.Close()
		}
	}()
	runHere(t, false, map[string]string{"TOKEN": "x"}, "invoke", "op", "--connect", "tcp:"+l.Addr().String(), "--token-env", "TOKEN").
		holds(t, "closed", 4, "unavailable: no answer to rpc.authenticate came", "ran: not_sent")
}

// What a server can't read it answers with id null: that is the answer.
func TestRefusalsWithoutAnID(t *testing.T) {
	for _, token := range []string{"", "x"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			defer l.Close()
			if conn, err := l.Accept(); err == nil {
				defer conn.Close()
				fmt.Fprintln(conn, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"too deep","data":{"kind":"parse_error","ran":"not_sent"}}}`)
				_, _ = io.Copy(io.Discard, conn) // and it stays open
			}
		}()
		args := []string{"invoke", "op", "--connect", "tcp:" + l.Addr().String()}
		if token != "" {
			args = append(args, "--token-env", "TOKEN")
		}
		runHere(t, false, map[string]string{"TOKEN": token}, args...).holds(t, "token "+token, 5, "parse_error: too deep", "ran: not_sent")
	}
}

// A server that is full may refuse a connection and close it before the call is written.
func TestRefusalBeforeTheCall(t *testing.T) {
	here, there := net.Pipe()
	stream := newStrictStream(here, maxReply)
	client := jsonrpc2.NewConn(t.Context(), stream, progressHandler{}, jsonrpc2.SetLogger(log.New(io.Discard, "", 0)))
	defer client.Close()
	go func() {
		_, _ = there.Read(make([]byte, 1)) // the call can't be written whole
		fmt.Fprintln(there, `{"jsonrpc":"2.0","id":null,"error":{"code":-32003,"message":"too many connections","data":{"kind":"overloaded","ran":"not_sent"}}}`)
		there.Close()
	}()
	err := stream.reason(callOn(t.Context(), client, "op", nil, nil))
	if answer, ok := errors.AsType[*jsonrpc2.Error](err); !ok || answer.Code != -32003 {
		t.Error(err)
	}
}

// A reply without end is cut off where no served operation could have one.
func TestAnswersWithoutEnd(t *testing.T) {
	endless := func(w io.Writer) {
		piece := strings.Repeat("x", 1<<20)
		for _, err := io.WriteString(w, `{"jsonrpc":"2.0","id":2,"result":"`); err == nil; {
			_, err = io.WriteString(w, piece)
		}
	}
	address, _ := answering(t, func(w http.ResponseWriter) { endless(w) })
	runHere(t, false, nil, "invoke", "op", "--connect", address).
		holds(t, address, 5, "output_too_large: the reply is too large", "limit: reply 68157440 bytes of client", "ran: sent")
	here, there := net.Pipe()
	defer here.Close()
	go endless(there)
	stream := newStrictStream(here, 1000)
	err := stream.reason(stream.ReadObject(new(any)))
	if failure, ok := errors.AsType[*registry.Error](err); !ok || failure.Kind != registry.KindOutputTooLarge {
		t.Error(err)
	}
}

func TestAnswersThatDoNotCome(t *testing.T) {
	release := make(chan struct{})
	address, _ := answering(t, func(http.ResponseWriter) { <-release })
	t.Cleanup(func() { close(release) })
	runHere(t, false, nil, "invoke", "op", "--connect", address, "--timeout", "0.2").holds(t, "late", 4, "timeout: no answer came", "ran: sent")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	time.AfterFunc(200*time.Millisecond, cancel)
	runIn(ctx, "", false, nil, "invoke", "op", "--connect", address).holds(t, "interrupted", 130, "cancelled: no answer came")
}

// A served registry tells of progress on the connection of the call.
func TestProgressOfServedCalls(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the path of a temporary folder is no address there")
	}
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	asked := make(chan string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		line, _ := bufio.NewReader(conn).ReadString('}')
		asked <- line
		fmt.Fprintln(conn, `{"jsonrpc":"2.0","method":"$/progress","params":{"token":2,"value":{"progress":1,"total":4,"message":"one\u001b"}}}`)
		fmt.Fprintln(conn, `{"jsonrpc":"2.0","method":"$/progress","params":7}`)
		fmt.Fprintln(conn, `{"jsonrpc":"2.0","method":"other"}`)
		fmt.Fprintln(conn, `{"jsonrpc":"2.0","id":2,"result":true}`)
		_, _ = io.Copy(io.Discard, conn)
	}()
	got := runHere(t, true, nil, "invoke", "op", "--connect", "unix:"+socket)
	got.holds(t, "progress", 0, "true\n", "\r\x1b[K1 of 4 one\ufffd", "\r\x1b[K")
	if line := <-asked; !strings.Contains(line, `"progressToken":2`) {
		t.Errorf("asked %s", line)
	}
}
