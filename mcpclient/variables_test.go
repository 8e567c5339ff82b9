package mcpclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/mcpclient/mcptest"
	"github.com/cupule/cupule/registry"
)

func TestSecretPrintsAsRedacted(t *testing.T) {
	s := secret("hunter22")
	v := struct {
		S secret
		M map[string]secret
	}{s, map[string]secret{"a": s}}
	text, _ := json.Marshal(v)
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "s", s, "v", v)
	for _, out := range []string{
		fmt.Sprint(s), fmt.Sprintf("%v %s %q %x %#v %+v %d", s, s, s, s, s, s, s), fmt.Sprintf("%+v %#v", v, v), string(text), log.String(),
	} {
		if strings.Contains(out, "hunter") || strings.Contains(out, "68756e746572") || !strings.Contains(out, redacted) {
			t.Errorf("%s", out)
		}
	}
}

func TestUntrusted(t *testing.T) {
	m := masker{"hunter22", "a\nb\nc", "x", "pä/s\"s"}
	for _, row := range [][2]string{
		{"plain", "plain"},
		{`says "hi"`, `says "hi"`},
		{"key hunter22!", "key [redacted]!"},
		{"line a\nb\nc", "line [redacted]"},
		{`quoted a\nb\nc`, "quoted [redacted]"},
		{`in JSON p\u00e4\/s\"s`, "in JSON [redacted]"},
		{"\x1b[31mred\x00\xff", `\x1b[31mred\x00\xff`},
		{strings.Repeat("y", 30), strings.Repeat("y", 20) + "..."},
		{strings.Repeat("ä", 30), strings.Repeat("ä", 10) + "..."},
		{strings.Repeat("z", 19) + "hunter22", strings.Repeat("z", 19) + "[..."},
		{strings.Repeat("hunter22", FrameOverhead/8+1), "[redacted]..."},
		{strings.Repeat("\n", FrameOverhead-6) + "hunter22", strings.Repeat(`\n`, 20) + "..."},
		{"text", "text"},
	} {
		if got := m.untrusted(row[0], 20); got != row[1] {
			t.Errorf("%.60q: %q, want %q", row[0], got, row[1])
		}
	}
}

// TestMissingVariables names every one that is missing, and starts nothing.
func TestMissingVariables(t *testing.T) {
	child := scriptedServer(t, false, mcptest.Good(), rule("echo"))
	child.Stdio.Env = map[string]string{"A": "HOST_A", "B": "HOST_B", "C": "TOKEN"}
	web := scriptedServer(t, true, mcptest.Good(), rule("echo"))
	web.HTTP.BearerTokenEnv = "EMPTY"
	web.HTTP.HeadersEnv = map[string]string{"X-One": "HOST_A", "X-Two": "BROKEN"}
	values := map[string]string{"TOKEN": "s3cr3t", "EMPTY": "", "BROKEN": "a\r\nX-Evil: 1"}
	c, err := New(&config.Config{MCP: map[string]*config.Server{"child": child.Server, "web": web.Server}}, &Options{
		LookupEnv: func(name string) (string, bool) { v, ok := values[name]; return v, ok },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for server, want := range map[string][]string{
		"child": {"mcp.child.stdio.env.A: the variable HOST_A is not set", "mcp.child.stdio.env.B: the variable HOST_B is not set"},
		"web": {
			"mcp.web.http.bearer_token_env: the variable EMPTY is empty", "mcp.web.http.headers_env.X-One: the variable HOST_A is not set",
			"mcp.web.http.headers_env.X-Two: the variable BROKEN holds a control character",
		},
	} {
		_, err := c.CallTool(t.Context(), server, "echo", nil, nobody)
		e := wantKind(t, err, registry.KindUnavailable, registry.NotSent)
		for _, text := range want {
			if !strings.Contains(err.Error(), text) || strings.Contains(e.Message, "HOST_A") || !strings.Contains(e.Message, server) {
				t.Errorf("want %q in: %v", text, err)
			}
		}
		if strings.Contains(err.Error(), "s3cr3t") || strings.Contains(err.Error(), "Evil") {
			t.Errorf("%v", err)
		}
	}
	if n := len(child.record()) + len(web.record()); n != 0 {
		t.Errorf("%d things came to the servers", n)
	}
}

// TestRotation reads variables again for each session.
func TestRotation(t *testing.T) {
	web := scriptedServer(t, true, mcptest.Good(), rule("echo"))
	web.HTTP.BearerTokenEnv = "TOKEN"
	value := "first"
	c, err := New(&config.Config{MCP: map[string]*config.Server{"web": web.Server}}, &Options{
		LookupEnv: func(string) (string, bool) { return value, true },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, value = range []string{"first", "second"} {
		if _, err := c.CallTool(t.Context(), "web", "echo", nil, nobody); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for _, e := range web.record() {
		seen[e.Header.Get("Authorization")] = true
	}
	if len(seen) != 2 || !seen["Bearer first"] || !seen["Bearer second"] {
		t.Errorf("%v", seen)
	}
}

// TestChildSeesExactlyWhatIsConfigured looks at a child's environment, arguments and folder.
func TestChildSeesExactlyWhatIsConfigured(t *testing.T) {
	t.Setenv("MCPCLIENT_TEST_STRAY", "1")
	s := scriptedServer(t, false, mcptest.Good(), rule("echo"))
	s.Stdio.Env = map[string]string{"CHILD_TOKEN": "TOKEN"}
	s.Stdio.Dir = t.TempDir()
	c := newClient(t, map[string]*config.Server{"lib": s.Server})
	if _, err := c.CallTool(t.Context(), "lib", "echo", nil, nobody); err != nil {
		t.Fatal(err)
	}
	started := s.record().Of(mcptest.Started)
	if len(started) == 0 {
		t.Fatal("nothing was started")
	}
	e := started[0]
	if len(e.Env) != 1 || e.Env[0] != "CHILD_TOKEN=s3cr3t-value" || e.Dir != s.Stdio.Dir {
		t.Errorf("environment %v, folder %s", e.Env, e.Dir)
	}
	if strings.Contains(strings.Join(e.Args, " "), "s3cr3t") {
		t.Error("a secret stands in the arguments")
	}
}

// TestSecretsInErrors has a server repeat its token in every way that it can.
func TestSecretsInErrors(t *testing.T) {
	const token = "s3cr3t-value"
	for _, web := range []bool{false, true} {
		for _, f := range []mcptest.Fault{
			{At: mcptest.CallTool, Do: mcptest.ErrorReply, Text: "bad token " + token},
			{At: mcptest.CallTool, Do: mcptest.Raw, JSON: json.RawMessage(`{"jsonrpc":"2.0","id":$id,"` + token + `":1}`)},
			{At: mcptest.CallTool, Do: mcptest.Raw, Text: token},
			{At: mcptest.CallTool, Do: mcptest.CrashBefore, Text: "bad token " + token},
			{At: mcptest.ListTools, Do: mcptest.ErrorReply, Text: token},
		} {
			if f.JSON != nil {
				f.Text, f.JSON = string(f.JSON), nil
			}
			s := scriptedServer(t, web, mcptest.Good().With(f), rule("echo"))
			s.Allowed["echo"].Timeout = time.Second
			if web {
				s.HTTP.BearerTokenEnv = "TOKEN"
			} else {
				s.Stdio.Env = map[string]string{"T": "TOKEN"}
			}
			c := newClient(t, map[string]*config.Server{"lib": s.Server})
			_, err := c.CallTool(t.Context(), "lib", "echo", nil, nobody)
			if e := asError(err); err == nil || strings.Contains(fmt.Sprintf("%v %+v %s", err, e, e.Stderr), token) {
				t.Errorf("web %v, %s: %v", web, f.Do, err)
			}
		}
	}
}

// TestServersOwnWords shows what of a server's error is for callers: its message, bounded, escaped
// and masked. Its data is not.
func TestServersOwnWords(t *testing.T) {
	for text, want := range map[string]string{
		"want a date":                     "the server answered with error -32602: want a date",
		"no file /srv/x":                  "the server answered with error -32602: no file /srv/x",
		"token s3cr3t-value":              "the server answered with error -32602: token [redacted]",
		"\x1b[2J\n":                       `the server answered with error -32602: \x1b[2J\n`,
		strings.Repeat("x", 2*MaxMessage): "the server answered with error -32602: " + strings.Repeat("x", MaxMessage) + "...",
	} {
		quoted, _ := json.Marshal(text)
		m := parse([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":` + string(quoted) + `,"data":"private"}}`))
		_, err := settle(&m, &pending{}, masker{"s3cr3t-value"})
		e := wantKind(t, err, registry.KindUpstreamError, registry.Completed)
		if e.Message != want || strings.Contains(fmt.Sprint(err), "private") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
