//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cupule/cupule/mcpclient/mcptest"
)

// told is what one call may be answered: 0 is a result.
type told struct {
	Error struct {
		Code int `json:"code"`
	} `json:"error"`
}

const callText = `{"jsonrpc":"2.0","method":"text","id":1}`

// onePerLine returns a caller on a connection that it keeps.
func onePerLine(conn net.Conn) func() ([]byte, error) {
	in := bufio.NewReader(conn)
	return func() ([]byte, error) {
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		if _, err := fmt.Fprintln(conn, callText); err != nil {
			return nil, err
		}
		return in.ReadBytes('\n')
	}
}

// onePost returns a caller on one HTTP connection; a second connection is an error.
func onePost(t *testing.T, url string) func() ([]byte, error) {
	var dials atomic.Int32
	transport := &http.Transport{}
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if dials.Add(1) > 1 {
			return nil, fmt.Errorf("the connection was lost")
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport, Timeout: 20 * time.Second}
	return func() ([]byte, error) {
		resp, err := client.Post(url, "application/json", strings.NewReader(callText))
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		return io.ReadAll(resp.Body)
	}
}

// counts are how often each code was told.
type counts [3]atomic.Int64

// caller calls until done, and fails the test at an answer of neither rule set.
func (c *counts) caller(t *testing.T, way string, done <-chan struct{}, call func() ([]byte, error)) {
	for {
		select {
		case <-done:
			return
		default:
		}
		body, err := call()
		var answer told
		if err != nil || json.Unmarshal(body, &answer) != nil {
			t.Errorf("%s: %s, %v", way, body, err)
			return
		}
		switch answer.Error.Code {
		case 0:
			c[0].Add(1)
		case -32005:
			c[1].Add(1)
		case -32001:
			c[2].Add(1)
		default:
			t.Errorf("%s: %s", way, body)
			return
		}
	}
}

// ruled is the configuration of a rule set: how large results may be, and what callers
// without a token may use.
func ruled(output string, operations ...string) object {
	script := mcptest.Script{Tools: []mcptest.Tool{{Name: "text", Text: strings.Repeat("x", 3000)}}}
	may := object{"operations": operations}
	return object{
		"mcp":        object{"tools": stdioServer(script, object{"allowed": declares("text")})},
		"operations": object{"text": object{"tool": "tools/text", "max_output": output}},
		"callers":    object{"local": may, "anonymous": may},
		"serve":      object{"listen": []any{"unix:./s", object{"address": "http://127.0.0.1:0/rpc", "anonymous": true}}},
	}
}

// reload puts a file in place, signals, and waits for what the server says of it.
func (s *served) reload(t *testing.T, text []byte, says string) {
	t.Helper()
	before := strings.Count(s.log.String(), says)
	if err := os.WriteFile(s.file+".new", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(s.file+".new", s.file); err != nil {
		t.Fatal(err)
	}
	s.signal(t, syscall.SIGHUP)
	await(t, says, func() bool { return strings.Count(s.log.String(), says) > before })
}

// TestHangupsUnderLoad: while the file changes back and forth, every call is answered by
// the rules of one file or another, and each connection stays.
func TestHangupsUnderLoad(t *testing.T) {
	t.Parallel()
	open, small, closed := ruled("100KB", "*"), ruled("1KB", "*"), ruled("100KB", "other.*")
	s := startServe(t, open)
	var rest string
	await(t, "the HTTP address", func() bool {
		_, rest, _ = strings.Cut(s.log.String(), "serving on http://")
		return strings.Contains(rest, "\n")
	})
	address, _, _ := strings.Cut(rest, "\n")
	conn, err := net.Dial("unix", filepath.Join(filepath.Dir(s.file), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var overUnix, overHTTP counts
	done := make(chan struct{})
	var callers sync.WaitGroup
	callers.Go(func() { overUnix.caller(t, "unix", done, onePerLine(conn)) })
	callers.Go(func() { overHTTP.caller(t, "HTTP", done, onePost(t, "http://"+address)) })
	bad := "operations:\n  one: {tool: nowhere/x}\n  two: {timeout: soon}\nmistake: 1\n"
	for range 4 {
		for i, cfg := range []object{small, closed, open} {
			text, err := json.Marshal(cfg)
			if err != nil {
				t.Fatal(err)
			}
			s.reload(t, text, "configuration loaded anew")
			which := (i + 1) % 3
			unixBefore, httpBefore := overUnix[which].Load(), overHTTP[which].Load()
			s.reload(t, []byte(bad), "the configuration is unchanged")
			await(t, "calls under the rules that hold", func() bool {
				return t.Failed() || overUnix[which].Load() > unixBefore+1 && overHTTP[which].Load() > httpBefore+1
			})
		}
	}
	close(done)
	callers.Wait()
	for _, problem := range []string{"app.yaml:2:", "app.yaml:3:", "app.yaml:4:"} {
		if got := strings.Count(s.log.String(), problem); got < 12 {
			t.Errorf("%s is told %d times in 12 loads", problem, got)
		}
	}
	s.signal(t, syscall.SIGTERM)
	if status := s.ends(t, 20*time.Second); status.ExitStatus() != 0 {
		t.Errorf("it ended with %v", s.cmd.ProcessState)
	}
}
