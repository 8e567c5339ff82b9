//go:build unix

package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cupule/cupule/mcpclient/mcptest"
)

// logged is what a child says, and can be read while it says it.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// await waits until something holds; what names it.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// served is a cupule serve of its own process.
type served struct {
	cmd  *exec.Cmd
	log  logged
	file string
	done chan struct{} // closed when it has ended
}

func startServe(t *testing.T, cfg any) *served {
	t.Helper()
	s := &served{file: configFile(t, cfg), done: make(chan struct{})}
	s.cmd = exec.Command("cupule", "serve", "-c", s.file)
	s.cmd.Stderr = &s.log
	s.cmd.WaitDelay = time.Second
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.done)
		_ = s.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		<-s.done
		if t.Failed() {
			t.Log(s.log.String())
		}
	})
	await(t, "serving", func() bool { return strings.Contains(s.log.String(), "serving on") })
	return s
}

func (s *served) signal(t *testing.T, sig os.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// ends waits for the end and returns how the process came to it.
func (s *served) ends(t *testing.T, within time.Duration) syscall.WaitStatus {
	t.Helper()
	select {
	case <-s.done:
	case <-time.After(within):
		t.Fatalf("it lives %v later", within)
	}
	return s.cmd.ProcessState.Sys().(syscall.WaitStatus)
}

// slowly serves one tool whose calls take so long, on a unix socket beside the file.
// Record is where the tool's server writes what it is asked.
func slowly(takes time.Duration, record string) object {
	script := mcptest.Script{Tools: []mcptest.Tool{{Name: "wait", Text: "waited", Delay: takes}}, Record: record}
	return object{
		"mcp":        object{"tools": stdioServer(script, object{"allowed": declares("wait")})},
		"operations": object{"wait": object{"tool": "tools/wait", "timeout": 60}},
		"serve":      object{"listen": []string{"unix:./s"}},
	}
}

// begin sends the call and waits until the tool's server has it.
func begin(t *testing.T, s *served, record string) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", filepath.Join(filepath.Dir(s.file), "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := fmt.Fprintln(conn, `{"jsonrpc":"2.0","method":"wait","id":1}`); err != nil {
		t.Fatal(err)
	}
	await(t, "the call", func() bool {
		text, _ := os.ReadFile(record)
		return bytes.Contains(text, []byte("tools/call"))
	})
	return conn
}

// drains waits until the server accepts nothing more.
func drains(t *testing.T, s *served) {
	t.Helper()
	await(t, "draining", func() bool {
		conn, err := net.Dial("unix", filepath.Join(filepath.Dir(s.file), "s"))
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
}

// TestSignalsWhileServing: one signal lets the running call finish; a second one doesn't.
func TestSignalsWhileServing(t *testing.T) {
	for _, second := range []syscall.Signal{0, syscall.SIGTERM, syscall.SIGINT} {
		t.Run(fmt.Sprint("second ", int(second)), func(t *testing.T) {
			t.Parallel()
			takes := time.Minute
			if second == 0 {
				takes = time.Second
			}
			record := filepath.Join(t.TempDir(), "record")
			s := startServe(t, slowly(takes, record))
			conn := begin(t, s, record)
			s.signal(t, syscall.SIGTERM)
			drains(t, s)
			if second == 0 {
				reply := make([]byte, 4096)
				_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
				if n, err := conn.Read(reply); err != nil || !bytes.Contains(reply[:n], []byte("waited")) {
					t.Errorf("%s, %v", reply[:n], err)
				}
				if status := s.ends(t, 20*time.Second); status.ExitStatus() != 0 {
					t.Errorf("it ended with %v", s.cmd.ProcessState)
				}
				return
			}
			s.signal(t, second)
			if status := s.ends(t, 5*time.Second); !status.Signaled() || status.Signal() != second {
				t.Errorf("it ended with %v", s.cmd.ProcessState)
			}
		})
	}
}

// TestGraceEndsCalls: without a second signal, what outlasts the grace is cancelled, and
// that is a good end.
func TestGraceEndsCalls(t *testing.T) {
	if testing.Short() {
		t.Skip("the grace is ten seconds")
	}
	t.Parallel()
	record := filepath.Join(t.TempDir(), "record")
	s := startServe(t, slowly(time.Minute, record))
	conn := begin(t, s, record)
	s.signal(t, syscall.SIGTERM)
	reply := make([]byte, 4096)
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	if n, err := conn.Read(reply); err != nil || !bytes.Contains(reply[:n], []byte(`"code":-32010`)) {
		t.Errorf("%s, %v", reply[:n], err)
	}
	if status := s.ends(t, 20*time.Second); status.ExitStatus() != 0 {
		t.Errorf("it ended with %v", s.cmd.ProcessState)
	}
}
