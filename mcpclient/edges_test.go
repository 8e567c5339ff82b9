package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/mcpclient/mcptest"
	"github.com/cupule/cupule/registry"
)

func TestBindings(t *testing.T) {
	for _, row := range []struct{ properties, want string }{
		{`"a":{"type":"string"}`, ""},
		{`"a":{"type":"string","x-mcp-header":"A"},"o":{"type":"object","properties":{"b":{"type":"integer","x-mcp-header":"B"}}}`, "a=A o.b=B"},
		{`"a":{"type":"number","x-mcp-header":"A"}`, "no string, integer or boolean"},
		{`"a":{"type":"string","x-mcp-header":""}`, "no name for a header"},
		{`"a":{"type":"string","x-mcp-header":"A B"}`, "no name for a header"},
		{`"a":{"type":"string","x-mcp-header":7}`, "no name for a header"},
		{`"a":{"type":"string","x-mcp-header":"X"},"b":{"type":"boolean","x-mcp-header":"x"}`, "the same x-mcp-header"},
	} {
		list, err := bindings(json.RawMessage(`{"name":"t","inputSchema":{"properties":{` + row.properties + `}}}`))
		var got []string
		for _, b := range list {
			got = append(got, strings.Join(b.path, ".")+"="+b.header)
		}
		text := strings.Join(got, " ")
		if err != nil {
			text = err.Error()
		}
		if !strings.Contains(text, row.want) || (text == "") != (row.want == "") {
			t.Errorf("%s: %s", row.properties, text)
		}
	}
}

func TestParamHeaders(t *testing.T) {
	list := []binding{{[]string{"s"}, "S"}, {[]string{"o", "n"}, "N"}, {[]string{"b"}, "B"}}
	for in, want := range map[string]string{
		`{"s":"plain","o":{"n":42},"b":true}`:                       "S:plain N:42 B:true",
		`{"s":"grün","o":{"n":42.0}}`:                               "S:=?base64?Z3LDvG4=?= N:42",
		`{"s":" x","o":{"n":1.5},"b":null}`:                         "S:=?base64?IHg=?=",
		`{"s":"=?base64?eA==?=","o":{"n":9007199254740993},"b":[]}`: "S:=?base64?PT9iYXNlNjQ/ZUE9PT89?=",
		`{"s":"a\r\nX-Evil: 1"}`:                                    "S:=?base64?YQ0KWC1FdmlsOiAx?=",
		`{"o":[]}`:                                                  "",
	} {
		var got []string
		for _, h := range paramHeaders(list, json.RawMessage(in)) {
			got = append(got, h.name+":"+h.value)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %s, want %s", in, text, want)
		}
	}
}

// TestHeadersOfARealServer calls a tool whose schema marks a parameter; the server checks it.
func TestHeadersOfARealServer(t *testing.T) {
	s := sdkServer()
	schema := `{"type":"object","properties":{"text":{"type":"string","x-mcp-header":"Text"}}}`
	s.AddTool(&mcp.Tool{Name: "marked", InputSchema: json.RawMessage(schema)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.Extra.Header.Get("Mcp-Param-Text")}}}, nil
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true}))
	defer web.Close()
	c := newClient(t, map[string]*config.Server{"web": webServer(web.URL, rule("marked"))})
	r, err := c.CallTool(t.Context(), "web", "marked", json.RawMessage(`{"text":"hello"}`), nobody)
	if err != nil || !strings.Contains(string(r.Raw), `"hello"`) {
		t.Errorf("%+v %v", r, err)
	}
}

// TestErrorBodies reads the JSON-RPC error that comes with a status.
func TestErrorBodies(t *testing.T) {
	for _, row := range []struct {
		status     int
		body, want string
		ran        registry.Ran
	}{
		{400, `{"jsonrpc":"2.0","id":$id,"error":{"code":-32602,"message":"no such thing"}}`, "error -32602: no such thing", registry.Completed},
		{500, `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"broken"}}`, "error -32603: broken", registry.Completed},
		{400, `{"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"another's"}}`, "HTTP status 400", registry.Completed},
		{400, `{"error":`, "HTTP status 400", registry.Completed},
		{502, `<html>`, "HTTP status 502", registry.Sent},
	} {
		web := mcptest.Good().HTTP(t)
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			m := parse(body)
			if string(m.method) != `"tools/call"` {
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				web.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			w.Header().Set("Retry-After", "99999999999")
			w.WriteHeader(row.status)
			_, _ = io.WriteString(w, strings.ReplaceAll(row.body, "$id", string(m.id)))
		}))
		c := newClient(t, map[string]*config.Server{"web": webServer(front.URL+"/mcp", rule("echo"))})
		_, err := c.CallTool(t.Context(), "web", "echo", nil, nobody)
		e := wantKind(t, err, registry.KindUpstreamError, row.ran)
		if !strings.Contains(e.Message, row.want) || e.RetryAfter != MaxRetryAfter {
			t.Errorf("%d %s: %s, %v", row.status, row.body, e.Message, e.RetryAfter)
		}
		front.Close()
	}
}

func TestRetryAfter(t *testing.T) {
	for in, want := range map[string]time.Duration{"": 0, "7": 7 * time.Second, "-1": 0, "x": 0, "31536000": MaxRetryAfter, "Wed, 21 Oct 2015 07:28:00 GMT": 0} {
		if got := retryAfter(http.Header{"Retry-After": {in}}); got != want {
			t.Errorf("%q: %v", in, got)
		}
	}
}

// TestStreamOfTheServersOwn receives what a server says outside calls, over HTTP.
func TestStreamOfTheServersOwn(t *testing.T) {
	script := mcptest.Good().With(at(mcptest.Stream, mcptest.ListChanged)...)
	script.Speaks = mcptest.Legacy
	s := scriptedServer(t, true, script, rule("echo"))
	c := newClient(t, map[string]*config.Server{"lib": s.Server})
	sub := c.servers["lib"].shared().Subscribe()
	if _, err := c.Connect(t.Context(), "lib", nobody); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	n, err := sub.Next(ctx)
	if list, ok := n.ListChanged(); err != nil || !ok || list != "tools" {
		t.Errorf("%+v %v", n, err)
	}
	sub.Close()
	if _, err := sub.Next(ctx); !errors.Is(err, ErrSubscriptionEnded) {
		t.Errorf("%v", err)
	}
}

func TestPinnedProtocol(t *testing.T) {
	for _, row := range []struct {
		speaks mcptest.Generation
		pinned string
		kind   registry.Kind
	}{
		{mcptest.Legacy, legacy, ""}, {mcptest.Legacy, "2025-06-18", ""}, {mcptest.Modern, modern, ""},
		{mcptest.Legacy, modern, registry.KindUpstreamError}, {mcptest.Modern, legacy, registry.KindUpstreamError},
	} {
		script := mcptest.Good()
		script.Speaks = row.speaks
		s := scriptedServer(t, false, script, rule("echo"))
		s.Protocol = row.pinned
		c := newClient(t, map[string]*config.Server{"lib": s.Server})
		_, err := c.CallTool(t.Context(), "lib", "echo", nil, nobody)
		if row.kind != "" {
			wantKind(t, err, row.kind, registry.NotSent)
		} else if err != nil {
			t.Errorf("%+v: %v", row, err)
		}
	}
}

// TestRemembersTheProtocol probes a server once in the life of a client.
func TestRemembersTheProtocol(t *testing.T) {
	script := mcptest.Good()
	script.Speaks = mcptest.Legacy
	s := scriptedServer(t, false, script, rule("echo"))
	c := newClient(t, map[string]*config.Server{"lib": s.Server})
	for range 3 {
		if _, err := c.CallTool(t.Context(), "lib", "echo", nil, nobody); err != nil {
			t.Fatal(err)
		}
	}
	if r := s.record(); r.Count("server/discover") != 1 || r.Count("initialize") != 3 {
		t.Errorf("%d probes, %d handshakes", r.Count("server/discover"), r.Count("initialize"))
	}
}

func TestCommandsThatCantStart(t *testing.T) {
	for command, want := range map[string]string{
		"no-such-command-anywhere": "was not found", "/no/such/file": "was not found", "/": "is a directory",
	} {
		s := &config.Server{Stdio: &config.Stdio{Command: command}, Startup: time.Second, Allowed: rules(rule("echo"))}
		c := newClient(t, map[string]*config.Server{"lib": s})
		_, err := c.CallTool(t.Context(), "lib", "echo", nil, nobody)
		e := wantKind(t, err, registry.KindUnavailable, registry.NotSent)
		if e.Phase != phaseStart || !strings.Contains(e.Message, want) || strings.Contains(e.Message, "/no/such") {
			t.Errorf("%s: %s, %v", command, e.Phase, e)
		}
	}
}

// TestClosedInput has a server that closes its input and stays. The call that can't be written fails at once.
func TestClosedInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &config.Server{Startup: seconds(8), Protocol: legacy, Allowed: rules(rule("echo")), Session: config.Session{Shared: true}}
		c, children := inMemory(t, s, goodReply)
		if _, err := c.Connect(t.Context(), "m", nobody); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // until what the handshake sent last is read, or the session ends here already
		_ = children.list[0].ends[1].Close()
		began := time.Now()
		_, err := c.CallTool(t.Context(), "m", "echo", nil, nobody)
		wantKind(t, err, registry.KindUnavailable, registry.NotSent)
		if took := time.Since(began); took > 2*exitWait {
			t.Errorf("back after %v", took)
		}
		_ = c.Close()
	})
}

// TestBatches takes answers that come as an array, as the protocol of 2025-03-26 allows.
func TestBatches(t *testing.T) {
	k := &conn{pipe: &pipe{}}
	k.calls.init()
	k.to = k
	r := &request{method: "x", limit: 100}
	a, _ := k.calls.add(r)
	b, _ := k.calls.add(r)
	k.handle([]byte(` [{"jsonrpc":"2.0","id":1073741825,"result":{"b":1}},{"jsonrpc":"2.0","id":1073741824,"result":{"a":1}},7]`), false)
	k.handle([]byte("  "), false)
	if x, y := <-a.answer, <-b.answer; string(x.result) != `{"a":1}` || string(y.result) != `{"b":1}` {
		t.Errorf("%s %s", x.result, y.result)
	}
	if !strings.HasPrefix(k.stray.String(), "1 of its lines") {
		t.Errorf("%s", k.stray.String())
	}
}

// TestFrameLimitFollowsCalls raises the limit of a frame with the largest call in flight, and lowers it.
func TestFrameLimitFollowsCalls(t *testing.T) {
	var c calls
	c.init()
	var got []int
	note := func() { got = append(got, c.frameLimit()-FrameOverhead) }
	note()
	small, _ := c.add(&request{limit: 10})
	note()
	large, _ := c.add(&request{limit: 1000})
	same, _ := c.add(&request{limit: 1000})
	note()
	c.take(large.id)
	note()
	c.take(same.id)
	note()
	c.take(small.id)
	if c.take(small.id) != nil {
		t.Error("a request was taken twice")
	}
	note()
	if diff := cmp.Diff([]int{0, 10, 1000, 1000, 10, 0}, got); diff != "" {
		t.Error(diff)
	}
}

func TestTemplatesAndLists(t *testing.T) {
	s := scriptedServer(t, false, mcptest.Good(), rule("echo"))
	s.Resources = rules(rule("docs://pages/*"), rule("docs://logo", effects.Mutation))
	s.Prompts = rules(rule("repeat"), rule("gone"))
	c := newClient(t, map[string]*config.Server{"lib": s.Server})
	templates, err := c.ListResourceTemplates(t.Context(), "lib", nobody)
	if err != nil || len(templates) != 1 || templates[0].Rule.Name != "docs://pages/*" {
		t.Errorf("%+v %v", templates, err)
	}
	if typed, err := templates[0].Typed(); err != nil || typed.Name != "page" {
		t.Errorf("%+v %v", typed, err)
	}
	if list, err := c.ListResources(t.Context(), "lib", nobody); err != nil || len(list) != 0 {
		t.Errorf("%+v %v", list, err)
	}
	prompts, err := c.ListPrompts(t.Context(), "lib", nobody)
	if err != nil || len(prompts) != 1 || prompts[0].Name != "repeat" {
		t.Errorf("%+v %v", prompts, err)
	}
	h, err := c.Check(t.Context(), "lib", nobody)
	if err != nil || len(h.Findings) != 1 || h.Findings[0].Subject.String() != "prompt lib/gone" {
		t.Errorf("%+v %v", h, err)
	}
	r, err := c.ReadResource(t.Context(), "lib", "docs://pages/7", nobody)
	if err != nil || !strings.Contains(string(r.Raw), "a page") {
		t.Errorf("%+v %v", r, err)
	}
	_, err = c.ListPrompts(t.Context(), "nowhere", nobody)
	wantKind(t, err, registry.KindMethodNotFound, registry.NotSent)
}
