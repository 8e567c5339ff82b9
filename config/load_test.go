package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cupule/cupule/effects"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// sample returns the configuration that testdata/problems/valid.txtar holds.
func sample(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/problems/valid.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(data), "-- app.yaml --\n")
	text, _, _ = strings.Cut(text, "-- problems --")
	return []byte(text)
}

// write puts a file into a folder of the test's own and returns its path.
func write(t testing.TB, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "app.yaml")
	if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	return file
}

func mustParse(t testing.TB, text string) *Config {
	t.Helper()
	cfg, err := Parse("app.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\nin:\n%s", err, text)
	}
	return cfg
}

func TestLoadSample(t *testing.T) {
	file := write(t, string(sample(t)))
	dir := filepath.Dir(file)
	cfg, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	at := func(line, column int) effects.Position {
		return effects.Position{File: file, Line: line, Column: column}
	}
	rule := func(name string, set effects.Set, line, column int, places effects.Positions) *Rule {
		return &Rule{Name: name, Effects: set, Declared: &places, Timeout: 30 * time.Second, MaxOutput: 256_000, At: at(line, column)}
	}
	network := effects.NewSet(effects.NetworkRead)
	resolved := effects.Positions{effects.NetworkRead: at(12, 19)}
	want := &Config{
		File: file, Dir: dir,
		MCP: map[string]*Server{
			"research-tools": {
				Alias: "research-tools", Startup: 10 * time.Second, At: at(2, 3),
				Stdio: &Stdio{
					Command: "research-tools", Args: []string{"--index", "./papers"}, Dir: dir, At: at(3, 5),
					Env: map[string]string{"PATH": "PATH", "RESEARCH_TOKEN": "MY_RESEARCH_TOKEN"},
				},
				Allowed:   map[string]*Rule{"resolve_identifier": rule("resolve_identifier", network, 11, 7, resolved)},
				Resources: map[string]*Rule{}, Prompts: map[string]*Rule{},
			},
			"library": {
				Alias: "library", Startup: 10 * time.Second, At: at(15, 3),
				HTTP: &HTTP{
					URL: "https://mcp.example.org/mcp", BearerTokenEnv: "LIBRARY_TOKEN", At: at(16, 5),
					HeadersEnv: map[string]string{"X-Tenant": "LIBRARY_TENANT"},
				},
				Allowed:   map[string]*Rule{"search": rule("search", network, 20, 15, effects.Positions{effects.NetworkRead: at(20, 34)})},
				Resources: map[string]*Rule{"docs://*": rule("docs://*", network, 21, 17, effects.Positions{effects.NetworkRead: at(21, 40)})},
				Prompts:   map[string]*Rule{"summarise": rule("summarise", 0, 22, 15, effects.Positions{})},
			},
		},
		Operations: map[string]*Operation{"identifier.resolve": {
			Name: "identifier.resolve", Description: "Resolve a persistent identifier to its metadata", At: at(24, 3),
			Server: "research-tools", Tool: "resolve_identifier", Effects: network, Declared: &resolved,
		}},
		Callers: map[string]*Caller{"dashboard": {
			Name: "dashboard", TokenEnv: "DASHBOARD_TOKEN", Authorize: effects.NewSet(effects.Inference),
			Operations: []effects.Pattern{"identifier.*"}, MaxOutput: 64_000, At: at(28, 3),
		}},
		Serve: Serve{Listen: []Listener{
			{Address: "unix:./app.sock", Scheme: "unix", Host: filepath.Join(dir, "app.sock"), At: at(35, 7)},
			{Address: "https://0.0.0.0:8321/rpc", Scheme: "https", Host: "0.0.0.0:8321", Path: "/rpc",
				Certificate: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), At: at(36, 7)},
		}},
	}
	if diff := cmp.Diff(want, cfg, cmpopts.IgnoreUnexported(Config{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestEveryKey(t *testing.T) {
	cfg := mustParse(t, `
mcp:
  a:
    stdio: {command: ./bin/a, args: ["", yes, "5"], dir: /srv, env: {}}
    startup: 0.25
    protocol: 2025-11-25
    session: {warm: 2, idle: 60}
    concurrency: 8
    allowed: {t: {effects: [mutation, network_read], timeout: 1.5, max_output: 1KiB}}
  b:
    http: {url: "http://[::1]:80/", ca_file: ca.pem}
    session: {shared: true}
  c: {http: {url: "https://example.org", proxy_env: PROXY}}
operations:
  own: {effects: [mutation, network_read, inference], tool: a/t, timeout: 2, max_output: 2B}
  go: {effects: [], params: {b: 1, a: [9007199254740993, 1.50, null, "x<y"]}, result: false}
callers:
  nobody: {operations: []}
  auditor: {offline: true, timeout: 10}
`)
	a, b := cfg.MCP["a"], cfg.MCP["b"]
	own, plain := cfg.Operations["own"], cfg.Operations["go"]
	for _, row := range []struct{ got, want any }{
		{a.Stdio.Command, filepath.Join(cfg.Dir, "bin", "a")},
		{a.Stdio.Args, []string{"", "yes", "5"}},
		{a.Stdio.Env, map[string]string{}},
		{a.Stdio.Dir, "/srv"},
		{a.Startup, 250 * time.Millisecond},
		{a.Protocol, "2025-11-25"},
		{a.Session, Session{Warm: 2, Idle: time.Minute}},
		{a.Concurrency, 8},
		{a.Transport(), effects.Stdio},
		{a.Allowed["t"].Timeout, 1500 * time.Millisecond},
		{a.Allowed["t"].MaxOutput, int64(1024)},
		{b.Session, Session{Shared: true}},
		{b.Transport(), effects.StreamableHTTP},
		{b.HTTP.CAFile, filepath.Join(cfg.Dir, "ca.pem")},
		{cfg.MCP["c"].HTTP.ProxyEnv, "PROXY"},
		{own.Effects, effects.NewSet(effects.Mutation, effects.NetworkRead, effects.Inference)},
		{own.Declared.Of(effects.Inference).Line, 15},
		{own.Timeout, 2 * time.Second},
		{own.MaxOutput, int64(2)},
		{string(plain.Params), `{"b":1,"a":[9007199254740993,1.50,null,"x<y"]}`},
		{string(plain.Result), "false"},
		{cfg.Callers["nobody"].Operations, []effects.Pattern{}},
		{cfg.Callers["auditor"].Operations, []effects.Pattern(nil)},
		{cfg.Callers["auditor"].Authority("unix"), effects.Authority{Principal: "auditor", Origin: "unix", Offline: true, Timeout: 10 * time.Second}},
	} {
		if diff := cmp.Diff(row.want, row.got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// A configuration that is read has its problems at the right bytes, or none.
func TestBytes(t *testing.T) {
	for name, row := range map[string]struct{ text, want string }{
		"nothing":       {"", "f:1:1: the file is empty: write at least one of mcp, operations, callers and serve"},
		"blanks":        {"\n \n", "f:1:1: the file is empty: write at least one of mcp, operations, callers and serve"},
		"mark":          {"\xef\xbb\xbfmcp: {}", "f:1:1: the file begins with a byte order mark: save it as UTF-8 without one"},
		"UTF-16":        {"\xff\xfem\x00", "f:1:1: the file is UTF-16: save it as UTF-8"},
		"Latin-1":       {"mcp: {}\n# \xe9\n", "f:2:3: these bytes are not UTF-8: save the file as UTF-8"},
		"NUL":           {"mcp: {}\x00", "f:1:8: control character U+0000: remove it, or write it as an escape in double quotes"},
		"escape":        {"# é\x1b[31m\n", "f:1:5: control character U+001B: remove it, or write it as an escape in double quotes"},
		"next line":     {"mcp: {}\u0085", "f:1:8: control character U+0085: remove it, or write it as an escape in double quotes"},
		"separator":     {"# a\n#\u2028\n", "f:2:2: control character U+2028: remove it, or write it as an escape in double quotes"},
		"old Mac":       {"mcp: {}\rserve: {}", "f:1:8: a carriage return stands alone: end lines with LF or CR LF"},
		"Windows":       {"mcp: {}\r\nserv: {}\r\n", `f:2:1: serv: unknown key, did you mean "serve"?`},
		"no final line": {"mcp: {a: {stdio: {command: x}, alowed: {}}}", `f:1:32: mcp.a.alowed: unknown key, did you mean "allowed"?`},
		"end marker":    {"mcp: {}\n...\n", ""},
		"begin marker":  {"---\nmcp: {}\n", ""},
		"directive":     {"# x\n%TAG ! x\n---\nmcp: {}\n", "f:2:1: a directive begins here: no directive is read, remove the line"},
		"too large":     {"#" + strings.Repeat("x", MaxFile), "f:1:1: the file has more than 1048576 bytes (1 MiB): split the service, or move long schemas into Go"},
		"just fits":     {"mcp: {}\n#" + strings.Repeat("x", MaxFile-9), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.TrimSuffix(problemsOf(t, "f", []byte(row.text)), "\n"); got != row.want {
				t.Errorf("got %q\nwant %q", got, row.want)
			}
		})
	}
}

func TestLoadErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(filepath.Join(dir, "missing.yaml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if cfg, err := Load(dir); err == nil || cfg != nil {
		t.Errorf("a folder: %v", err)
	}
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip("no file without end here")
	}
	var all *Error
	if _, err := Load("/dev/zero"); !errors.As(err, &all) || len(all.Problems) != 1 {
		t.Errorf("a file without end: %v", err)
	}
}

func TestProblemString(t *testing.T) {
	p := Problem{File: "f", Line: 2, Column: 3, Path: "mcp.a", Message: "wrong"}
	if got := p.String(); got != "f:2:3: mcp.a: wrong" {
		t.Error(got)
	}
	err := &Error{Problems: []Problem{p, {File: "f", Line: 4, Column: 1, Message: "too"}}}
	if got := err.Error(); got != "f:2:3: mcp.a: wrong\nf:4:1: too" {
		t.Error(got)
	}
}

// A secret that stands in a wrong place appears in no message, whatever is wrong with it.
func TestNoSecretInProblems(t *testing.T) {
	for _, secret := range []string{"sk-proj-S3CR3Tabcdef12", "ghp_S3CR3Tabcdef12345", "S3CR3T1a2b3c4d5e6f7g8h"} {
		for _, form := range []string{
			"mcp: {a: {stdio: {command: x, env: {A: %s}}}}", "mcp: {a: {stdio: {command: x, env: {%s: A}}}}",
			"mcp: {a: {stdio: {command: x, env: {%s: A, %[1]s: B}}}}", "mcp: {a: {stdio: {command: x, args: [--token, %s]}}}",
			"mcp: {a: {stdio: {command: x, args: [--token=%s]}}}", "mcp: {a: {http: {url: 'https://x.org/?token=%s'}}}",
			"mcp: {a: {http: {url: 'https://u:%s@x.org/'}}}", "mcp: {a: {http: {url: 'https://%s'}}}",
			"mcp: {a: {http: {url: 'https://x.org', bearer_token_env: %s}}}", "mcp: {a: {http: {url: 'https://x.org', headers_env: {X-A: %s}}}}",
			"mcp: {a: {http: {url: 'https://x.org', headers_env: {%s: A}}}}", "callers: {a: {token_env: %s}}",
			"callers: {a: {token_env: [%s]}}", "mcp: {a: {stdio: {command: x, env: [A=%s]}}}",
		} {
			text := fmt.Sprintf(form, secret)
			got := problemsOf(t, "f", []byte(text))
			if got == "" && !strings.Contains(form, "x.org/'") && !strings.Contains(form, "https://%s") {
				t.Errorf("accepted: %s", text)
			}
			if strings.Contains(got, "S3CR3T") {
				t.Errorf("%s\ntells the secret: %s", text, got)
			}
		}
	}
}

// Whatever stands in a file of the largest size is read in time that grows with the size
// alone. The bound is a guard: the worst shape takes a tenth of it on a slow machine.
func TestLinear(t *testing.T) {
	lines := func(n int, format string) string {
		var b strings.Builder
		for i := range n / slowdown {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	repeat := func(text string, n int) string { return strings.Repeat(text, max(n/slowdown, 1)) }
	tools := "mcp:\n  a:\n    stdio: {command: x}\n    allowed:\n"
	for name, text := range map[string]string{
		"unknown keys":      lines(20_000, "k%d: 1\n"),
		"servers":           "mcp:\n" + lines(20_000, "  s%d: {}\n"),
		"duplicates":        "mcp:\n" + repeat("  a: {}\n", 100_000),
		"tools":             tools + lines(20_000, "      t%d: {effects: [mutation]}\n"),
		"wrong tools":       tools + lines(10_000, "      t%d: {effects: []}\n") + "operations:\n" + lines(20_000, "  o%d: {tool: a/u%[1]d}\n"),
		"a long key":        "mcp: {" + repeat("a", 1000) + ": {" + lines(20_000, "k%d: 1,") + "}}\n",
		"one line":          "mcp: {" + lines(50_000, "é%d: {}, ") + "}\n",
		"no keys":           repeat("?\n", 400_000),
		"flags":             "mcp: {a: {stdio: {command: x, args: [" + repeat("\"--token\", ", 80_000) + "]}}}",
		"assignments":       "mcp: {a: {stdio: {command: x, args: [" + repeat("x=y, ", 200_000) + "]}}}",
		"digits":            "mcp: {a: {concurrency: " + repeat("1", 1_000_000) + "}}",
		"seconds":           "mcp: {a: {startup: " + repeat("1", 1_000_000) + "}}",
		"a size":            "callers: {a: {max_output: " + repeat("1", 1_000_000) + "KB}}",
		"depth":             "operations: {a: {effects: [], params: {a: " + repeat("[", 9_000) + repeat("]", 9_000) + "}}}",
		"open":              repeat("[", 1_000_000),
		"dashes":            repeat("- ", 500_000),
		"a long argument":   "mcp: {a: {stdio: {command: x, args: [" + repeat("a-", 500_000) + "]}}}",
		"a long URL":        "mcp: {a: {http: {url: 'https://x.org/?" + repeat("a=b&", 200_000) + "'}}}",
		"tags":              repeat("%TAG !a! b\n", 90_000),
		"aliases":           "mcp: {a: {stdio: {command: &b x, args: [" + repeat("*b,", 200_000) + "]}}}",
		"patterns":          "callers: {c: {operations: [" + lines(60_000, "a%d*,") + "]}}",
		"comments":          repeat("a: b\n# c\n", 100_000),
		"listeners":         "callers: {a: {token_env: A}}\nserve: {listen: [" + lines(30_000, "tcp://127.0.0.1:%d,") + "]}",
		"a block of text":   "operations: {}\nmcp: |\n" + repeat(" x\n", 300_000),
		"a folded text":     "mcp: \"" + repeat("x\n\n", 300_000) + "\"",
		"a mistake":         repeat("a: {b: [c, 'd', \"e\"]}\n", 11_000) + "  f: g: h\n",
		"open quotes":       "a: [" + repeat("'a',", 60_000) + "'",
		"nested references": nestedAliases(30),
	} {
		t.Run(name, func(t *testing.T) {
			if len(text) > MaxFile {
				t.Fatalf("%d bytes", len(text))
			}
			start := time.Now()
			problemsOf(t, "f", []byte(text))
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// nestedAliases returns schemas of which each stands for the one before twice.
func nestedAliases(n int) string {
	var b strings.Builder
	b.WriteString("operations:\n  o0: {effects: [], params: &a0 {x: 1}}\n")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, "  o%d: {effects: [], params: &a%[1]d {x: *a%d, y: *a%[2]d}}\n", i, i-1)
	}
	return b.String()
}
