package mcpclient

import (
	"strings"
	"testing"

	"github.com/cupule/cupule/internal/strictjson"
	"github.com/cupule/cupule/registry"
)

// FuzzPeer feeds a conversation with whatever lines a server may write. A call is answered at
// most once, with a JSON object within its limit or an error of a kind that fits.
func FuzzPeer(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1073741824,"result":{"content":[]}}`, `{"jsonrpc":"2.0","id":1073741824,"error":{"code":1,"message":"m"}}`,
		`[{"jsonrpc":"2.0","id":1073741824,"result":{}}]`, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1073741824,"progress":1}}`,
		`{"jsonrpc":"2.0","id":"x","method":"ping"}`, "hello\n\n{}", `{"jsonrpc":"2.0","id":1073741824,"result":{"a":"` + strings.Repeat("x", 300) + `"}}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		k := &conn{pipe: &pipe{out: &outbox{queue: make(chan *parcel, 8), stop: make(chan struct{}), done: make(chan struct{})}}, notes: &notes{}}
		k.to = k
		k.calls.init()
		k.agreed.Store(&agreement{})
		sub := k.notes.subscribe()
		p, err := k.calls.add(&request{method: "tools/call", limit: 256, progress: func(registry.Progress) {}})
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(in, "\n") {
			k.handle([]byte(line), false)
		}
		close(p.answer)
		if a, ok := <-p.answer; ok && a.err == nil {
			if err := strictjson.Valid(a.result, maxDepth); err != nil || a.result[0] != '{' || len(a.result) > 256 {
				t.Fatalf("%q answered with %q", in, a.result)
			}
			_, _ = newResult(a.result, *p.shape)
			_ = checkArray(a.result, "contents")
			_, _ = newCatalog(toolList, true, all).take(a.result)
		} else if ok && asError(a.err).Kind != registry.KindUpstreamError && asError(a.err).Kind != registry.KindOutputTooLarge {
			t.Fatalf("%q: %v", in, a.err)
		}
		for {
			n, ok, _ := sub.pop()
			if !ok {
				return
			}
			_, _, _ = n.Progress()
			_, _ = n.Log()
		}
	})
}

func all(string) bool { return true }

// FuzzCatalog reads a list of tools, and looks at every tool in it.
func FuzzCatalog(f *testing.F) {
	for _, s := range []string{
		`{"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"x":{"type":"string","x-mcp-header":"X"}}},"annotations":{"readOnlyHint":true}}]}`,
		`{"tools":[null,7,{"name":"a"},{"name":"a"}],"nextCursor":"x"}`, `{"tools":null}`, `{"tools":{}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if strictjson.Valid(in, maxDepth) != nil || strictjson.KindOf(in) != strictjson.Object {
			return
		}
		c := newCatalog(toolList, true, all)
		if _, err := c.take(in); err != nil {
			return
		}
		for _, name := range c.names {
			e, missing := c.tool(name)
			if (e == nil) == (missing == nil) {
				t.Fatalf("%q: %v %v", in, e, missing)
			}
			_ = contradiction(c.entries[name].raw, 0)
			_ = paramHeaders(c.entries[name].bound, in)
		}
	})
}
