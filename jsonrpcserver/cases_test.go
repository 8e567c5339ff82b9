package jsonrpcserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// hang is how long a test waits for what must come at once.
const hang = 10 * time.Second

// client speaks raw messages with a server.
type client struct {
	t       testing.TB
	conn    net.Conn
	in      *bufio.Reader
	headers bool // Content-Length framing
}

func newClient(t testing.TB, conn net.Conn, headers bool) *client {
	t.Helper()
	t.Cleanup(func() { conn.Close() })
	return &client{t: t, conn: conn, in: bufio.NewReaderSize(conn, 64<<10), headers: headers}
}

func (c *client) send(text string) {
	c.t.Helper()
	if c.headers {
		text = fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(text), text)
	} else {
		text += "\n"
	}
	c.raw(text)
}

func (c *client) raw(bytes string) {
	c.t.Helper()
	_ = c.conn.SetWriteDeadline(time.Now().Add(hang))
	if _, err := io.WriteString(c.conn, bytes); err != nil {
		c.t.Fatalf("write: %v", err)
	}
}

// receive returns the next message, or the error of the connection.
func (c *client) receive(wait time.Duration) (string, error) {
	_ = c.conn.SetReadDeadline(time.Now().Add(wait))
	if !c.headers {
		line, err := c.in.ReadString('\n')
		return strings.TrimSuffix(line, "\n"), err
	}
	header, err := textproto.NewReader(c.in).ReadMIMEHeader()
	if err != nil {
		return "", err
	}
	n, err := strconv.Atoi(header.Get("Content-Length"))
	if err != nil {
		return "", err
	}
	body := make([]byte, n)
	_, err = io.ReadFull(c.in, body)
	return string(body), err
}

// expect receives a message and compares it.
func (c *client) expect(want string) {
	c.t.Helper()
	got, err := c.receive(hang)
	if err != nil {
		c.t.Fatalf("got %q, %v; want %s", got, err, want)
	}
	if err := sameReply(want, got); err != nil {
		c.t.Errorf("%v", err)
	}
}

// expectClosed checks that nothing more comes and the connection ends.
func (c *client) expectClosed() {
	c.t.Helper()
	got, err := c.receive(hang)
	if ne, ok := err.(net.Error); err == nil || ok && ne.Timeout() {
		c.t.Errorf("got %q, %v; want the connection closed", got, err)
	}
}

// call is send and expect.
func (c *client) call(request, want string) {
	c.t.Helper()
	c.send(request)
	c.expect(want)
}

// step is one request of a case and what must come back: a reply, "none" or "close".
type step struct{ send, want string }

func readCases(t testing.TB, name string) []step {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var list []step
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if sent, ok := strings.CutPrefix(line, "--> "); ok {
			list = append(list, step{send: sent})
		} else if want, ok := strings.CutPrefix(line, "<-- "); ok {
			list[len(list)-1].want = want
		}
	}
	return list
}

// caseFiles returns the files, and fails where there are none.
func caseFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/cases/*.txt")
	if err != nil || len(files) < 3 {
		t.Fatalf("%v, %v", files, err)
	}
	return files
}

// sameReply compares as the cases are to be compared: the id by its bytes, of an error
// only the code, and the replies of a batch in any order.
func sameReply(want, got string) error {
	if strings.HasPrefix(want, "[") {
		return sameBatch(want, got)
	}
	w, g := parseReply(want), parseReply(got)
	if g == nil || !slices.Equal(w, g) {
		return fmt.Errorf("got  %s\nwant %s", got, want)
	}
	return nil
}

func sameBatch(want, got string) error {
	var w, g []json.RawMessage
	if json.Unmarshal([]byte(want), &w) != nil || json.Unmarshal([]byte(got), &g) != nil {
		return fmt.Errorf("got  %s\nwant %s", got, want)
	}
	sorted := func(list []json.RawMessage) [][]string {
		var all [][]string
		for _, raw := range list {
			all = append(all, parseReply(string(raw)))
		}
		slices.SortFunc(all, slices.Compare)
		return all
	}
	if diff := cmp.Diff(sorted(w), sorted(g)); diff != "" {
		return fmt.Errorf("got %s: %s", got, diff)
	}
	return nil
}

// parseReply returns id, code and compact result of a reply; nil if it is none.
func parseReply(text string) []string {
	var r struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  json.RawMessage `json:"result"`
		Error   *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	r.Result = json.RawMessage("absent")
	if err := json.Unmarshal([]byte(text), &r); err != nil || r.Version != "2.0" || r.ID == nil {
		return nil
	}
	if r.Error != nil {
		if r.Error.Message == "" || string(r.Result) != "absent" {
			return nil
		}
		return []string{string(r.ID), strconv.Itoa(r.Error.Code), ""}
	}
	var compact bytes.Buffer
	if json.Compact(&compact, r.Result) != nil {
		return nil
	}
	return []string{string(r.ID), "", compact.String()}
}

// play runs the steps of one file on one connection.
func (c *client) play(list []step) {
	c.t.Helper()
	for i, x := range list {
		switch x.want {
		case "none":
			// What would be sent wrongly would come before this answer.
			c.send(x.send)
			c.call(fmt.Sprintf(`{"jsonrpc":"2.0","method":"echo","params":[%d],"id":"probe"}`, i),
				fmt.Sprintf(`{"jsonrpc":"2.0","result":[%d],"id":"probe"}`, i))
			continue
		case "close":
			c.send(x.send)
			c.expectClosed()
			return
		}
		c.call(x.send, x.want)
	}
}

func forEachFraming(t *testing.T, f func(t *testing.T, headers bool)) {
	for _, headers := range []bool{false, true} {
		t.Run(map[bool]string{false: "newline", true: "content-length"}[headers], func(t *testing.T) { f(t, headers) })
	}
}

func TestCasesOnPipe(t *testing.T) {
	for _, file := range caseFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			forEachFraming(t, func(t *testing.T, headers bool) {
				t.Parallel()
				serve(t, newServer(t, Backend{}, nil), nil, headers).play(readCases(t, file))
			})
		})
	}
}

// serve gives one end of an in-memory connection to the server and returns a client on the other.
func serve(t testing.TB, s *Server, opts *ConnOptions, headers bool) *client {
	t.Helper()
	if opts == nil {
		opts = &ConnOptions{Origin: "unix", Caller: LocalCaller}
	}
	ours, theirs := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.ServeConn(t.Context(), theirs, opts) }()
	t.Cleanup(func() {
		ours.Close()
		select {
		case <-done:
		case <-time.After(hang):
			t.Error("ServeConn didn't return")
		}
	})
	return newClient(t, ours, headers)
}
