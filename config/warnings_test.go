package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/cupule/cupule/effects"
	"github.com/google/go-cmp/cmp"
)

const warned = `mcp:
  missing:
    stdio: {command: nowhere, args: ["${HOME}/x", $X, "100$"], env: {A: SET, B: UNSET, C: EMPTY}}
    allowed: {t: {effects: []}}
  words: {stdio: {command: npx -y x}, allowed: {t: {effects: []}}}
  http:
    http: {url: https://example.org/, bearer_token_env: EMPTY, headers_env: {X-A: UNSET}, proxy_env: UNSET}
    allowed:
      never: {effects: [credentials, network_read, process]}
    resources: {"a b": {effects: [process]}}
  idle: {http: {url: https://example.org/}}
operations:
  a.b: {effects: [credentials]}
  a.c: {tool: http/never}
callers:
  local: {}
  anonymous: {}
  nobody: {}
  a: {token_env: SET, operations: ["*", a.*, a.b, b.*, a.bc, a.b.*, a.b*]}
  b: {token_env: SET}
  c: {token_env: SAME}
  d: {token_env: UNSET}
  e: {token_env: EMPTY}
serve: {listen: [http://127.0.0.1:80]}
`

func TestWarnings(t *testing.T) {
	env := map[string]string{"SET": "S3CR3T", "SAME": "S3CR3T", "EMPTY": ""}
	lookUp := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	noCommand := func(string) (string, error) { return "", errors.New("not found") }
	var got strings.Builder
	for _, p := range mustParse(t, warned).Warnings(lookUp, noCommand) {
		got.WriteString(p.String() + "\n")
	}
	want := `app.yaml:3:13: mcp.missing.stdio.command: the command nowhere is not found
app.yaml:3:38: mcp.missing.stdio.args[0]: neither ~ nor a variable is expanded in arguments: the program gets it as it is written
app.yaml:3:51: mcp.missing.stdio.args[1]: neither ~ nor a variable is expanded in arguments: the program gets it as it is written
app.yaml:3:78: mcp.missing.stdio.env.B: the variable UNSET is not set
app.yaml:5:19: mcp.words.stdio.command: the command npx -y x is not found; no shell splits it, arguments belong into args
app.yaml:7:39: mcp.http.http.bearer_token_env: the variable EMPTY is empty: nobody can authenticate with it
app.yaml:7:78: mcp.http.http.headers_env.X-A: the variable UNSET is not set
app.yaml:7:91: mcp.http.http.proxy_env: the variable UNSET is not set
app.yaml:9:25: mcp.http.allowed.never: every call will be denied: the effect credentials is never available
app.yaml:9:52: mcp.http.allowed.never: every call will be denied: the effect process is never available
app.yaml:10:35: mcp.http.resources["a b"]: every call will be denied: the effect process is never available
app.yaml:11:3: mcp.idle: nothing is allowed on this server: declare tools under allowed
app.yaml:13:19: operations.a.b: every call will be denied: the effect credentials is never available
app.yaml:17:3: callers.anonymous: no listener says anonymous: true, so nobody acts as this caller
app.yaml:18:3: callers.nobody: this caller has no token_env, so nobody can authenticate as it
app.yaml:19:51: callers.a.operations[3]: b.* matches no operation of this file; one registered in Go may match
app.yaml:19:56: callers.a.operations[4]: a.bc matches no operation of this file; one registered in Go may match
app.yaml:19:62: callers.a.operations[5]: a.b.* matches no operation of this file; one registered in Go may match
app.yaml:20:7: callers.b.token_env: its token is the same as that of caller a: neither can authenticate
app.yaml:21:7: callers.c.token_env: its token is the same as that of caller b: neither can authenticate
app.yaml:22:7: callers.d.token_env: the variable UNSET is not set
app.yaml:23:7: callers.e.token_env: the variable EMPTY is empty: nobody can authenticate with it
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if strings.Contains(got.String(), "S3CR3T") {
		t.Error("a secret is told")
	}
}

// A configuration that was put together in Go has the places that it was given.
func TestWarningsWithoutFile(t *testing.T) {
	at := effects.Position{File: "x", Line: 7, Column: 3}
	cfg := &Config{File: "x", Callers: map[string]*Caller{"a": {Name: "a", TokenEnv: "UNSET", At: at}}}
	got := cfg.Warnings(func(string) (string, bool) { return "", false }, nil)
	want := []Problem{{File: "x", Line: 7, Column: 3, Path: "callers.a.token_env", Message: "the variable UNSET is not set"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Nil functions look at this process: PATH is set, and the command of the test isn't there.
func TestWarningsOfThisProcess(t *testing.T) {
	t.Setenv("CUPULE_TEST_SET", "x")
	cfg := mustParse(t, "mcp: {a: {stdio: {command: cupule-no-such-command, env: {A: CUPULE_TEST_SET}}, allowed: {t: {effects: []}}}}")
	got := cfg.Warnings(nil, nil)
	if len(got) != 1 || got[0].Path != "mcp.a.stdio.command" {
		t.Error(got)
	}
}

func TestNoWarnings(t *testing.T) {
	cfg := mustParse(t, string(sample(t)))
	set := func(string) (string, bool) { return "x", true }
	found := func(name string) (string, error) { return "/bin/" + name, nil }
	// The sample names a certificate, which is the only thing that isn't there.
	got := cfg.Warnings(set, found)
	if len(got) != 2 || got[0].Path != "serve.listen[1].tls.certificate" || got[1].Path != "serve.listen[1].tls.key" {
		t.Error(got)
	}
}

// Who connects without a token is restricted by the caller named anonymous, or not at all.
func TestUnrestrictedListeners(t *testing.T) {
	for callers, want := range map[string]int{"{}": 1, "{anonymous: {operations: [a.b]}}": 0} {
		cfg := mustParse(t, `mcp: {a: {stdio: {command: sh}, allowed: {t: {effects: []}}}}
operations: {a.b: {tool: a/t}}
callers: `+callers+`
serve: {listen: [{address: "tcp://127.0.0.1:0", anonymous: true}]}
`)
		got := cfg.Warnings(nil, func(name string) (string, error) { return name, nil })
		if len(got) != want || want == 1 && (got[0].Path != "serve.listen[0].anonymous" || got[0].Line != 4) {
			t.Errorf("%s: %v", callers, got)
		}
	}
}

func TestTildeIsNotExpanded(t *testing.T) {
	cfg := mustParse(t, `mcp:
  a: {stdio: {command: ~/x, dir: ~/d, args: [~/y, "~", a~, ~x]}, allowed: {t: {effects: []}}}
  b: {stdio: {command: ~x}, allowed: {t: {effects: []}}}
  c: {http: {url: "https://example.org/mcp", ca_file: ~me/roots.pem}, allowed: {t: {effects: []}}}
`)
	missing := func(string) (string, error) { return "", errors.New("not found") }
	hinted := map[string]bool{}
	for _, p := range cfg.Warnings(nil, missing) {
		hinted[p.Path] = strings.Contains(p.Message, "~ is not expanded") || strings.Contains(p.Message, "neither ~ nor")
	}
	want := map[string]bool{"mcp.a.stdio.command": true, "mcp.a.stdio.dir": true, "mcp.a.stdio.args[0]": true, "mcp.a.stdio.args[1]": true, "mcp.b.stdio.command": true, "mcp.c.http.ca_file": true}
	if diff := cmp.Diff(want, hinted); diff != "" {
		t.Error(diff)
	}
}

func TestWarningsOfMissingFiles(t *testing.T) {
	cfg := mustParse(t, `mcp:
  a: {stdio: {command: x, dir: nowhere}, allowed: {t: {effects: []}}}
  b: {http: {url: "https://example.org/mcp", ca_file: roots.pem}, allowed: {t: {effects: []}}}
operations:
  o: {tool: a/t, effects: [credentials]}
`)
	found := func(name string) (string, error) { return name, nil }
	var paths []string
	for _, p := range cfg.Warnings(nil, found) {
		paths = append(paths, p.Path)
	}
	want := []string{"mcp.a.stdio.dir", "mcp.b.http.ca_file", "operations.o"}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Error(diff)
	}
}
