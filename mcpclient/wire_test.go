package mcpclient

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
)

var update = flag.Bool("update", false, "write the conversations in testdata/wire anew")

// wire is a conversation as a server sees it: "-> " what the client wrote, "<- " what it got.
type wire struct {
	mu  sync.Mutex
	log strings.Builder
}

func (w *wire) note(arrow, line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(&w.log, "%s %s\n", arrow, line)
}

// answers are the lines that a server writes when a message with this method, or a reply,
// has come; $id stands for the id.
type answers map[string][]string

// conversing returns a client whose server answers like this, and the conversation.
func conversing(t *testing.T, s *config.Server, with answers) (*Client, *wire) {
	w := &wire{}
	c, _ := inMemory(t, s, nil)
	c.dial = func(_ *config.Server, v *variables, _ effects.Set, n *notes) (peer, error) {
		w.note("--", "a server starts")
		stdin, in := net.Pipe()
		out, stdout := net.Pipe()
		p := &puppet{ends: []net.Conn{stdin, in, out, stdout}, done: make(chan struct{})}
		go func() {
			lines := bufio.NewScanner(in)
			for lines.Scan() {
				w.note("->", lines.Text())
				m := parse(lines.Bytes())
				method, _ := text(m.method)
				if m.method == nil {
					method = "reply " + string(m.id)
				}
				for _, line := range with[method] {
					line = strings.ReplaceAll(line, "$id", string(m.id))
					w.note("<-", line)
					fmt.Fprintln(stdout, line)
				}
			}
		}()
		return newConn(p, stdin, out, v.masker(), n), nil
	}
	return c, w
}

const (
	initialized = `{"jsonrpc":"2.0","id":$id,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"m","version":"1"}}}`
	discovered  = `{"jsonrpc":"2.0","id":$id,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}`
	unknown     = `{"jsonrpc":"2.0","id":$id,"error":{"code":-32601,"message":"Method not found"}}`
	listed      = `{"jsonrpc":"2.0","id":$id,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}}`
	called      = `{"jsonrpc":"2.0","id":$id,"result":{"content":[]}}`
	progressed  = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$id,"progress":1}}`
)

func TestWire(t *testing.T) {
	good := answers{"initialize": {initialized}, "server/discover": {unknown}, "tools/list": {listed}, "tools/call": {called}}
	with := func(method string, lines ...string) answers {
		a := answers{}
		for k, v := range good {
			a[k] = v
		}
		a[method] = lines
		return a
	}
	for _, row := range []struct {
		name   string
		answer answers
		cancel bool
	}{
		{name: "newest", answer: with("server/discover", discovered)},
		{name: "older", answer: good},
		{name: "silent on the probe", answer: with("server/discover")},
		{name: "asks the client", answer: with("tools/call",
			`{"jsonrpc":"2.0","id":"a","method":"ping"}`, `{"jsonrpc":"2.0","id":1073741826,"method":"sampling/createMessage","params":{}}`,
			`{"jsonrpc":"2.0","id":-3,"method":"roots/list"}`, `{"jsonrpc":"2.0","id":null,"method":"elicitation/create"}`, called)},
		{name: "asks the client, newest", answer: answers{"server/discover": {discovered}, "tools/list": {listed}, "tools/call": {
			`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":2,"method":"elicitation/create","params":{}}`, called}}},
		{name: "answers others first", answer: with("tools/call",
			`Server ready.`, `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":"$id","result":{}}`, `{"jsonrpc":"2.0","id":$id.0,"result":{}}`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`, progressed, called, called)},
		{name: "cancelled", answer: with("tools/call", progressed), cancel: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &config.Server{Startup: seconds(8), Allowed: rules(rule("echo"))}
				c, w := conversing(t, s, row.answer)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				r, err := c.Call(ctx, ToolCall{Server: "m", Tool: "echo", Args: json.RawMessage("{\n \"n\": 9007199254740993\n}"), Progress: func(registry.Progress) {
					if row.cancel {
						cancel()
					}
				}})
				synctest.Wait()
				_ = c.Close()
				w.note("--", outcome(r, err))
				golden(t, row.name, w.log.String())
			})
		})
	}
}

func outcome(r *Result, err error) string {
	if err != nil {
		e := asError(err)
		return fmt.Sprintf("%s, %s: %s", e.Kind, e.Ran, e.Message)
	}
	return "result " + string(r.Raw)
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "wire", strings.ReplaceAll(strings.ReplaceAll(name, ",", ""), " ", "-")+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}
