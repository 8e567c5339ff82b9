package jsonrpcserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cupule/cupule/registry"
)

// memoryChild is the argument of a test binary that serves, for others to measure its memory.
const memoryChild = "jsonrpcserver-memory-child"

// serveForMemory serves on a unix socket, TCP and HTTP, prints their addresses, and then
// for each line of its input what memory it takes.
func serveForMemory(dir string) error {
	length := registry.Operation{Name: "length", Handler: func(_ context.Context, c *registry.Call) (json.RawMessage, error) {
		return strconv.AppendInt(nil, int64(len(c.Params)), 10), nil
	}}
	reg, err := registry.New(append(operations(), length), nil)
	if err != nil {
		return err
	}
	s, err := New(Backend{Registry: reg}, nil)
	if err != nil {
		return err
	}
	var listeners []*Listener
	for _, e := range []Endpoint{
		{Scheme: "unix", Address: filepath.Join(dir, "s")},
		{Scheme: "tcp", Address: "127.0.0.1:0", Anonymous: true},
		{Scheme: "http", Address: "127.0.0.1:0", Anonymous: true},
	} {
		l, err := s.Listen(context.Background(), e)
		if err != nil {
			return err
		}
		fmt.Println(l.Addr())
		listeners = append(listeners, l)
	}
	go func() { _ = s.Serve(context.Background(), listeners...) }()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var m runtime.MemStats
		if in.Text() != "at once" {
			runtime.GC()
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		fmt.Println(m.HeapInuse+m.StackInuse, highWater(), s.Stats().Connections)
		if in.Text() == "settled" {
			_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // highWater starts anew
		}
	}
	return nil
}

// highWater returns the most memory that was resident, in bytes.
func highWater() (most int64) {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	_, _ = fmt.Sscan(rest, &most)
	return most << 10
}

// measured is a child that serves.
type measured struct {
	t         *testing.T
	ask       io.Writer
	answers   *bufio.Scanner
	addresses []string
}

// startMeasured starts a child of this kind, which tells so many addresses.
func startMeasured(t *testing.T, kind string, addresses int) *measured {
	t.Helper()
	cmd := exec.Command(os.Args[0], kind, filepath.Dir(socketPath(t)))
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	m := &measured{t: t, ask: in, answers: bufio.NewScanner(out)}
	for range addresses {
		m.answers.Scan()
		m.addresses = append(m.addresses, m.answers.Text())
	}
	return m
}

// memory returns the bytes in use and the most that were resident.
func (m *measured) memory(when string) (inUse, resident int64) {
	m.t.Helper()
	fmt.Fprintln(m.ask, when)
	var connections int
	if !m.answers.Scan() {
		m.t.Fatal("the server ended")
	}
	if _, err := fmt.Sscan(m.answers.Text(), &inUse, &resident, &connections); err != nil {
		m.t.Fatal(err)
	}
	return inUse, resident
}

// 1,023 peers that each begin a message of a megabyte and stop cost 8 MiB together, and over HTTP
// what a request costs; so do those
// that send nonsense and don't read. Another's message of that size gets through.
func TestMemoryOfHalfMessages(t *testing.T) {
	if raceEnabled || testing.Short() {
		t.Skip("it takes long, and the race detector takes memory of its own")
	}
	half := `{"jsonrpc":"2.0","method":"length","id":1,"params":["` + strings.Repeat("x", 900_000)
	headed := "Content-Length: 1000000\r\n\r\n"
	posted := "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
	for _, test := range []struct {
		name, network, small, half, whole string
		address                           int
	}{
		{"unix", "unix", callEcho + "\n", half, half + "\"]}\n", 0},
		{"unix, 5 KB", "unix", callEcho + "\n", half[:5000], half + "\"]}\n", 0},
		{"unix, headers", "unix", "Content-Length: 40\r\n\r\n" + callEcho, headed + half, headed + half + "\"]}" + strings.Repeat(" ", 100_000-55), 0},
		{"tcp", "tcp", callEcho + "\n", half, half + "\"]}\n", 1},
		{"refusals that nobody reads", "unix", callEcho + "\n", strings.Repeat("x\n", 50_000), "", 0},
		{"http", "tcp", posted + "40\r\n\r\n" + callEcho, posted + "1000000\r\n\r\n" + half, posted + fmt.Sprintf("%d\r\n\r\n%s\"]}", len(half)+3, half), 2},
		{"http, chunks", "tcp", posted + "40\r\n\r\n" + callEcho, strings.Replace(posted, "Content-Length: ", "Transfer-Encoding: chunked", 1) + "\r\n\r\nF4240\r\n" + half, posted + fmt.Sprintf("%d\r\n\r\n%s\"]}", len(half)+3, half), 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := startMeasured(t, memoryChild, 3)
			connect := func() net.Conn {
				conn, err := net.Dial(test.network, m.addresses[test.address])
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { conn.Close() })
				_, _ = io.WriteString(conn, test.small)
				if _, err := io.ReadAtLeast(conn, make([]byte, 1000), 20); err != nil {
					t.Fatal(err)
				}
				return conn
			}
			peers := make([]net.Conn, DefaultMaxConnections-1)
			for i := range peers {
				peers[i] = connect()
			}
			honest := connect()
			idle, residentIdle := m.memory("settled")
			var all sync.WaitGroup
			for _, conn := range peers {
				all.Go(func() {
					_ = conn.SetWriteDeadline(time.Now().Add(2 * time.Second))
					_, _ = io.WriteString(conn, test.half)
				})
			}
			var most, live int64
			for i := range 25 {
				time.Sleep(100 * time.Millisecond)
				inUse, _ := m.memory("at once")
				most = max(most, inUse)
				if i == 12 || i == 24 {
					inUse, _ := m.memory("collected")
					live = max(live, inUse)
				}
			}
			all.Wait()
			_, resident := m.memory("at once")
			t.Logf("KiB above %d idle: %d live, %d in use; resident %d above %d", idle>>10, (live-idle)>>10, (most-idle)>>10, (resident-residentIdle)>>10, residentIdle>>10)
			limit := int64(8 << 20)
			if strings.HasPrefix(test.name, "http") {
				limit += int64(len(peers)) * 6 << 10 // what package http takes for a request
			}
			if live-idle > limit {
				t.Errorf("%d bytes for %d halves of messages", live-idle, len(peers))
			}
			if test.whole == "" {
				return
			}
			began := time.Now()
			var answer string
			for !strings.Contains(answer, `"result":900004`) && time.Since(began) < hang {
				answer = exchangeOn(honest, test.whole)
				if strings.HasPrefix(answer, "HTTP/1.1 503") {
					honest = connect()
				}
			}
			if !strings.Contains(answer, `"result":900004`) {
				t.Error(answer)
			}
			t.Logf("a whole message took %v", time.Since(began))
		})
	}
}

// exchangeOn sends a request and returns the beginning of the answer.
func exchangeOn(conn net.Conn, request string) string {
	_ = conn.SetDeadline(time.Now().Add(hang))
	if _, err := io.WriteString(conn, request); err != nil {
		return err.Error()
	}
	answer := make([]byte, 1000)
	n, err := io.ReadAtLeast(conn, answer, 40)
	return string(answer[:n]) + fmt.Sprint(err)
}
