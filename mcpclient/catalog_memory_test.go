package mcpclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cupule/cupule/config"
)

// fat are the answers of servers that try to fill a client's memory before any tool is
// called: what they are named after is as large as it may be, or larger.
var fat = map[string]func(method string) string{
	"description": func(m string) string {
		return fatList(m, fatTool("echo", `"description":"`+strings.Repeat("x", 4_000_000)+`"`))
	},
	"tools": func(m string) string {
		text := `"description":"` + strings.Repeat("x", 4_000) + `"`
		list := []string{fatTool("echo", text)}
		for i := range 900 {
			list = append(list, fatTool(fmt.Sprint("tool", i), text))
		}
		return fatList(m, list...)
	},
	"values": func(m string) string {
		return fatList(m, fatTool("echo", `"outputSchema":{"a":[`+strings.Repeat("{},", 1_300_000)+`{}]}`))
	},
	"keys": func(m string) string {
		var b strings.Builder
		for i := range 400_000 {
			fmt.Fprintf(&b, `"%x":1,`, i)
		}
		return fatList(m, fatTool("echo", `"outputSchema":{`+b.String()+`"type":"object"}`))
	},
	"a definition": func(m string) string {
		return fatList(m, fatTool("echo", `"_meta":[`+strings.Repeat("{},", 20_000)+`{}],"arguments":[`+strings.Repeat("{},", 20_000)+`{}]`))
	},
	"cursor": func(m string) string {
		if m != "tools/list" {
			return fatList(m)
		}
		return strings.TrimSuffix(fatList(m, fatTool("echo", `"title":"t"`)), "}") + `,"nextCursor":"` + strings.Repeat("x", 4_000_000) + `"}`
	},
	"capabilities": func(m string) string {
		if m == "initialize" {
			return fatHello(`{"experimental":{"a":{"b":[` + strings.Repeat("{},", 85_000) + `{}]}}}`)
		}
		return fatList(m, fatTool("echo", `"title":"t"`))
	},
}

func fatHello(capabilities string) string {
	return `{"protocolVersion":"2025-11-25","serverInfo":{"name":"fat","version":"1"},"capabilities":` + capabilities + `}`
}

func fatTool(name, more string) string {
	return `{"name":"` + name + `","inputSchema":{"type":"object"},` + more + `}`
}

func fatList(method string, tools ...string) string {
	switch method {
	case "initialize":
		return fatHello("{}")
	case "tools/list":
		return `{"tools":[` + strings.Join(tools, ",") + `]}`
	}
	return `{"content":[]}`
}

// fatAnswer answers a message, with nil where it is a notification.
func fatAnswer(what string, line []byte) []byte {
	m := parse(line)
	method, _ := text(m.method)
	if m.id == nil {
		return nil
	}
	return []byte(`{"jsonrpc":"2.0","id":` + string(m.id) + `,"result":` + fat[what](method) + "}\n")
}

// runFat is such a server as a child.
func runFat(what string) error {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if _, err := os.Stdout.Write(fatAnswer(what, in.Bytes())); err != nil {
			return err
		}
	}
	return in.Err()
}

// fatWeb is such a server over HTTP.
func fatWeb(t *testing.T, what string, events bool) string {
	answers := sync.Map{}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m := parse(body)
		if m.id == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		made, _ := answers.LoadOrStore(string(m.method), sync.OnceValue(func() []byte { return fatAnswer(what, body) }))
		answer := made.(func() []byte)()
		_, rest, _ := bytes.Cut(answer, []byte(`,"result"`))
		head := `{"jsonrpc":"2.0","id":` + string(m.id) + `,"result"`
		if events {
			w.Header().Set("Content-Type", "text/event-stream")
			head = "data: " + head
			rest = append(rest[:len(rest):len(rest)], '\n')
		} else {
			w.Header().Set("Content-Type", "application/json")
		}
		_, _ = io.WriteString(w, head)
		_, _ = w.Write(rest)
	}))
	t.Cleanup(h.Close)
	return h.URL
}

// burden is one way to burden a client, and what came of it.
type burden struct {
	What, URL string // of the server; a child where there is no URL
	Calls     int

	Heap, Resident uint64 // how far they grew
	Outcomes       map[string]int
}

const (
	burdenVariable = "MCPCLIENT_TEST_BURDEN"
	burdenOutput   = 1 << 10
)

// runBurden is a client in a process of its own.
func runBurden(task string) error {
	var b burden
	if err := json.Unmarshal([]byte(task), &b); err != nil {
		return err
	}
	r := rule("echo")
	r.MaxOutput, r.Timeout = burdenOutput, time.Minute
	s := &config.Server{Startup: time.Minute, Protocol: legacy, Concurrency: b.Calls, Allowed: rules(r), HTTP: &config.HTTP{URL: b.URL}}
	if b.URL == "" {
		exe, err := os.Executable()
		if err != nil {
			return err
		}
		s.HTTP, s.Stdio = nil, &config.Stdio{Command: exe, Env: map[string]string{serverVariable: "KIND_FAT", "FAT": "FAT"}}
	}
	c, err := New(&config.Config{MCP: map[string]*config.Server{"fat": s}}, &Options{LookupEnv: func(name string) (string, bool) {
		if name == "FAT" {
			return b.What, true
		}
		return lookup(name)
	}})
	if err != nil {
		return err
	}
	b.Outcomes = map[string]int{}
	before, stop := resident(), peak()
	var mu sync.Mutex
	var all sync.WaitGroup
	for range b.Calls {
		all.Go(func() {
			_, err := c.CallTool(context.Background(), "fat", "echo", nil, nobody)
			mu.Lock()
			defer mu.Unlock()
			outcome := "ok"
			if err != nil {
				outcome = err.Error()
			}
			b.Outcomes[outcome]++
		})
	}
	all.Wait()
	b.Heap, b.Resident = stop(), resident()-before
	_ = c.Close()
	return json.NewEncoder(os.Stdout).Encode(b)
}

// resident returns the most memory that this process has had, in bytes; 0 where that isn't known.
func resident() uint64 {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	n, _ := strconv.ParseUint(fields[0], 10, 64)
	return n << 10
}

// TestMemoryOfCatalogs makes parallel calls to servers whose lists and greetings are as large as they
// may be. Memory stays well within 8 MiB and 4 times what the calls may hold.
func TestMemoryOfCatalogs(t *testing.T) {
	if raceEnabled || runtime.GOOS != "linux" {
		t.Skip("the race detector has a memory of its own, and Linux alone tells of it")
	}
	for _, row := range []struct {
		what    string
		calls   int
		mediums string
	}{
		{"description", 64, "stdio JSON events"},
		{"tools", 64, "stdio JSON events"},
		{"tools", 1, "stdio JSON events"},
		{"a definition", 64, "stdio JSON events"},
		{"a definition", 1, "stdio JSON events"},
		{"values", 64, "JSON"},
		{"keys", 64, "events"},
		{"cursor", 64, "JSON"},
		{"capabilities", 64, "stdio JSON"},
	} {
		for medium := range strings.FieldsSeq(row.mediums) {
			t.Run(fmt.Sprintf("%s, %s, %d", row.what, medium, row.calls), func(t *testing.T) {
				b := burden{What: row.what, Calls: row.calls}
				if medium != "stdio" {
					b.URL = fatWeb(t, row.what, medium == "events")
				}
				b.run(t)
				formula := uint64(8<<20 + row.calls*4*(burdenOutput+1<<20))
				t.Logf("heap %.1f MiB, resident %.1f MiB, the formula allows %.1f; %v", mib(b.Heap), mib(b.Resident), mib(formula), b.Outcomes)
				if max(b.Heap, b.Resident) > formula*3/4 {
					t.Errorf("memory grew by %d bytes", max(b.Heap, b.Resident))
				}
			})
		}
	}
}

func mib(n uint64) float64 { return float64(n) / (1 << 20) }

// run has a process of its own do it.
func (b *burden) run(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	task, _ := json.Marshal(b)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), burdenVariable+"="+string(task))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, b); err != nil {
		t.Fatal(err)
	}
}
