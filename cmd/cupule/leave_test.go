//go:build unix

package main

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cupule/cupule/mcpclient/mcptest"
)

// TestClientsThatLeave: whoever hangs up during a call takes the call to the tool along, in
// a batch every one, and the service goes on and ends in good order.
func TestClientsThatLeave(t *testing.T) {
	t.Parallel()
	record := filepath.Join(t.TempDir(), "record")
	cfg := slowly(time.Minute, record)
	anonymous := func(address string) object { return object{"address": address, "anonymous": true} }
	cfg["serve"] = object{"listen": []any{anonymous("tcp://127.0.0.1:0"), anonymous("http://127.0.0.1:0/rpc")}}
	cfg["callers"] = object{"anonymous": object{"operations": []string{"*"}}}
	s := startServe(t, cfg)
	address := func(scheme string) (at string) {
		await(t, scheme, func() bool {
			_, rest, _ := strings.Cut(s.log.String(), "serving on "+scheme+"://")
			line, _, whole := strings.Cut(rest, "\n")
			at, _, _ = strings.Cut(strings.TrimSpace(line), "/")
			return whole
		})
		return at
	}
	const call = `{"jsonrpc":"2.0","method":"wait","id":%d}`
	one, many := fmt.Sprintf(call, 1), "["+fmt.Sprintf(call, 1)+","+fmt.Sprintf(call, 2)+"]"
	post := func(body string) string {
		return fmt.Sprintf("POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	calls := 0
	count := func(of string) int {
		seen, err := mcptest.ReadRecord(record)
		if err != nil {
			t.Fatal(err)
		}
		if of == "cancelled" {
			return len(seen.Cancelled())
		}
		return seen.Count(of)
	}
	for _, row := range []struct {
		name, scheme, sent string
		calls              int
	}{
		{"a call on a socket", "tcp", one + "\n", 1},
		{"a batch on a socket", "tcp", many + "\n", 2},
		{"with a length", "tcp", fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(one), one), 1},
		{"a call over HTTP", "http", post(one), 1},
		{"a batch over HTTP", "http", post(many), 2},
	} {
		conn, err := net.Dial("tcp", address(row.scheme))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte(row.sent)); err != nil {
			t.Fatal(err)
		}
		calls += row.calls
		await(t, row.name+": the tool is called", func() bool { return count("tools/call") == calls })
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
		await(t, row.name+": the tool is told", func() bool { return count("cancelled") == calls })
	}
	s.signal(t, syscall.SIGTERM)
	if status := s.ends(t, 8*time.Second); status.ExitStatus() != 0 {
		t.Errorf("it ended with %v", s.cmd.ProcessState)
	}
}
