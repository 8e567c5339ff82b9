//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startPiped starts cupule serve, and returns its standard error when it serves.
func startPiped(t *testing.T, cmd *exec.Cmd) io.ReadCloser {
	t.Helper()
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	if line, err := bufio.NewReader(log).ReadString('\n'); err != nil || !strings.Contains(line, "serving on") {
		t.Fatal(line, err)
	}
	return log
}

// endsWell waits for the end, and looks whether it left its socket.
func endsWell(t *testing.T, cmd *exec.Cmd, socket string) {
	t.Helper()
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if _, err := os.Lstat(socket); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
}

// TestNobodyReadsTheLog: a server whose standard error leads nowhere any more goes on, and
// ends in good order. A peer makes it log.
func TestNobodyReadsTheLog(t *testing.T) {
	file := configFile(t, object{
		"callers": object{"x": object{"token_env": "TOKEN"}}, "serve": object{"listen": []string{"unix:./s"}},
	})
	socket := filepath.Join(filepath.Dir(file), "s")
	cmd := exec.Command("cupule", "serve", "-c", file)
	cmd.Env = append(os.Environ(), "TOKEN=of-the-caller-x")
	if err := startPiped(t, cmd).Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := asksOnce(t, socket, `{"jsonrpc":"2.0","method":"rpc.authenticate","params":{"token":"wrong"},"id":1}`); !strings.Contains(got, "-32002") {
			t.Errorf("answered %q", got)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	endsWell(t, cmd, socket)
}

// asksOnce sends one message on a connection of its own and returns the answer.
func asksOnce(t *testing.T, socket, message string) string {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := fmt.Fprintln(conn, message); err != nil {
		t.Fatal(err)
	}
	answer, _ := bufio.NewReader(conn).ReadString('\n')
	return answer
}

// TestNobodyReadsTheReplies: a server whose standard output is closed ends in good order, as
// it does at the end of its standard input.
func TestNobodyReadsTheReplies(t *testing.T) {
	file := configFile(t, object{"serve": object{"listen": []string{"stdio", "unix:./s"}}})
	cmd := exec.Command("cupule", "serve", "-c", file)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	startPiped(t, cmd)
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"rpc.discover","id":1}`); err != nil {
		t.Fatal(err)
	}
	endsWell(t, cmd, filepath.Join(filepath.Dir(file), "s"))
}
