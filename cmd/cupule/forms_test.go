package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

// TestFormsSayTheSame has every command print JSON and YAML: one document each, of one value.
func TestFormsSayTheSame(t *testing.T) {
	file := catalog(t)
	for _, test := range []struct {
		args string
		code int
	}{
		{"check", 0},
		{"check --live", 0},
		{"explain say", 0},
		{"explain say --offline", 0},
		{"ops", 0},
		{"invoke say {\"text\":\"9007199254740993: yes\"}", 0},
		{"mcp servers", 0},
		{"mcp tools s", 0},
		{"mcp call s echo {\"n\":9007199254740993}", 0},
		{"mcp call s fails", 1},
		{"mcp resources s", 0},
		{"mcp read s docs://readme", 0},
		{"mcp prompts s", 0},
		{"mcp prompt s repeat {\"text\":\"null\"}", 0},
		{"version", 0},
	} {
		values := map[string]any{}
		for _, form := range []string{"json", "yaml"} {
			got := runHere(t, false, nil, append(splitWords(test.args), "-c", file, "-o", form)...)
			if got.code != test.code {
				t.Errorf("%s as %s: exit code %d\n%s", test.args, form, got.code, got.talk)
			}
			values[form] = valueOf(t, form, got.out)
		}
		if diff := cmp.Diff(values["json"], values["yaml"]); diff != "" || values["json"] == nil {
			t.Errorf("%s: JSON and YAML differ: %s", test.args, diff)
		}
	}
}

// splitWords splits at blanks outside of JSON.
func splitWords(args string) []string {
	words := strings.SplitN(args, " {", 2)
	list := strings.Fields(words[0])
	if len(words) > 1 {
		list = append(list, "{"+words[1])
	}
	return list
}

// valueOf reads the one document of a text, with exact numbers.
func valueOf(t *testing.T, form, text string) any {
	t.Helper()
	raw := []byte(text)
	if form == "yaml" {
		var tree any
		if err := yaml.Unmarshal(raw, &tree); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		var err error
		if raw, err = json.Marshal(tree); err != nil {
			t.Fatal(err)
		}
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil || d.More() {
		t.Fatalf("no one value, %v:\n%s", err, text)
	}
	return value
}

// TestFailuresLeaveStandardOutputEmpty looks at failures of all sorts: what is told stands on
// standard error, in one line of JSON where that is asked for.
func TestFailuresLeaveStandardOutputEmpty(t *testing.T) {
	file := catalog(t)
	broken := filepath.Join(t.TempDir(), "broken.yaml")
	if err := os.WriteFile(broken, []byte("mcp: {a: {}}\nserv: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args, kind string
		code       int
	}{
		{"invoke nothing -c " + file, "method_not_found", 2},
		{"invoke say -c none.yaml", "usage", 2},
		{"invoke say -c " + broken, "configuration", 2},
		{"ops -c " + broken, "configuration", 2},
		{"serve -c " + broken, "configuration", 2},
		{"mcp tools nowhere -c " + file, "method_not_found", 2},
		{"mcp call s missing -c " + file, "method_not_found", 2},
		{"mcp read s other://x -c " + file, "method_not_found", 2},
		{"mcp remove nobody -c " + file, "usage", 2},
		{"mcp add s --url https://example.org/ -c " + file, "usage", 2},
		{"invoke say --caller nobody -c " + file, "usage", 2},
		{"invoke say --authorize credentials -c " + file, "usage", 2},
		{"mcp tools s --max-output 1 -c " + file, "usage", 2},
	} {
		got := runHere(t, false, nil, append(strings.Fields(test.args), "-o", "json")...)
		var told struct {
			Error struct {
				Code    int
				Message string
				Data    struct {
					Kind     string
					Problems []finding
				}
			}
		}
		if err := json.Unmarshal([]byte(got.talk), &told); err != nil || strings.Count(got.talk, "\n") != 1 {
			t.Errorf("%s: told %q, %v", test.args, got.talk, err)
		}
		e := told.Error
		if got.code != test.code || got.out != "" || e.Data.Kind != test.kind || e.Message == "" || (e.Code != 0) != (test.kind == "method_not_found") {
			t.Errorf("%s: exit code %d, %q, %q", test.args, got.code, got.out, got.talk)
		}
		if (len(e.Data.Problems) == 2) != (test.kind == "configuration") {
			t.Errorf("%s: problems %v", test.args, e.Data.Problems)
		}
		plain := runHere(t, false, nil, strings.Fields(test.args)...)
		if plain.code != test.code || plain.out != "" || plain.talk == "" || strings.HasPrefix(plain.talk, "{") {
			t.Errorf("%s: exit code %d, %q, %q", test.args, plain.code, plain.out, plain.talk)
		}
	}
}

// TestAddedAsSaid adds servers with each flag, and refuses those that would be left out.
func TestAddedAsSaid(t *testing.T) {
	for _, test := range []struct {
		args string
		want string // of the file below the alias, or of the error
		code int
	}{
		{"--env A=B --dir sub --startup 1.5 --protocol 2025-11-25 -- x -y --url z", "stdio: command: x args: [-y, --url, z] dir: sub env: A: B startup: 1.5 protocol: 2025-11-25 allowed: {}", 0},
		{"--url https://example.org/ --bearer-token-env T --header-env X-A=B --header-env X-C=D --ca-file ca.pem --proxy-env P",
			"http: url: https://example.org/ bearer_token_env: T headers_env: X-A: B X-C: D ca_file: ca.pem proxy_env: P allowed: {}", 0},
		{"--url https://example.org/ --env A=B", "--env goes with -- and the command", 2},
		{"--url https://example.org/ --dir x", "--dir goes with -- and the command", 2},
		{"--bearer-token-env T -- x", "--bearer-token-env goes with --url", 2},
		{"--header-env X-A=B -- x", "--header-env goes with --url", 2},
		{"--ca-file x -- x", "--ca-file goes with --url", 2},
		{"--proxy-env P -- x", "--proxy-env goes with --url", 2},
		{"--url https://example.org/ -- x", "write either --url URL, or --", 2},
		{"--env A=B --env A=C -- x", "--env: A stands twice", 2},
		{"--env A -- x", "--env: write KEY=NAME", 2},
		{"--startup -1 -- x", "startup: must be a number of seconds above 0", 2},
		{"--startup 601 -- x", "app.yaml stays as it is, since the change would make it wrong:\n", 2},
		{"--protocol 2020-01-01 -- x", "protocol", 2},
		{"--env A=ghp_abcdefghijklmnop -- x", "looks like a secret", 2},
		{"-- x --token sk-abcdefghijklmnopqrst", "looks like a secret", 2},
	} {
		file := filepath.Join(t.TempDir(), "app.yaml")
		got := runHere(t, false, nil, append([]string{"mcp", "add", "-c", file, "a"}, strings.Fields(test.args)...)...)
		text, err := os.ReadFile(file)
		if test.code != 0 {
			if got.holds(t, test.args, test.code, test.want); err == nil {
				t.Errorf("%s: wrote\n%s", test.args, text)
			}
			continue
		}
		below, _ := strings.CutPrefix(strings.Join(strings.Fields(string(text)), " "), "mcp: a: ")
		if strings.ReplaceAll(below, "\"", "") != test.want || got.code != 0 {
			t.Errorf("%s: wrote %s\n%s", test.args, below, got.talk)
		}
	}
}
