package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestImports(t *testing.T) {
	golden(t, "imports", func(t *testing.T, files map[string]string) map[string]string {
		found, err := Import([]byte(files["input.json"]), nil)
		if err != nil {
			return map[string]string{"error": err.Error() + "\n"}
		}
		var talk strings.Builder
		for _, v := range found.Variables {
			fmt.Fprintf(&talk, "set %s for %s: %s\n", v.Name, v.Server, v.Use)
		}
		for _, note := range found.Notes {
			talk.WriteString(note + "\n")
		}
		result := map[string]string{"talk": talk.String()}
		file := filepath.Join(t.TempDir(), "app.yaml")
		if err := AddServers(file, found.Servers); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(file); err == nil {
			result["app.yaml"] = string(data)
		}
		for name, text := range result {
			if strings.Contains(text, "S3CR3T") {
				t.Errorf("%s holds a secret:\n%s", name, text)
			}
		}
		return result
	})
}

func TestImportNames(t *testing.T) {
	data := []byte(`{"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}}`)
	found, err := Import(data, &ImportOptions{Names: []string{"b"}})
	if err != nil || len(found.Servers) != 1 || found.Servers[0].Alias != "b" {
		t.Errorf("%+v %v", found, err)
	}
	if _, err := Import(data, &ImportOptions{Names: []string{"c"}}); err == nil {
		t.Error("a server that isn't there was imported")
	}
}

func TestImportLaunchers(t *testing.T) {
	for command, startup := range map[string]time.Duration{
		"npx": time.Minute, "uvx": time.Minute, `C:\\tools\\npx.cmd`: time.Minute, "/usr/bin/npx": time.Minute,
		"node": DefaultStartup, "python3.12": DefaultStartup, "docker": DefaultStartup,
	} {
		found, err := Import([]byte(`{"mcpServers": {"a": {"command": "`+command+`"}}}`), nil)
		if err != nil || len(found.Servers) != 1 {
			t.Fatalf("%s: %+v %v", command, found, err)
		}
		s := found.Servers[0]
		if s.Startup != startup || s.Stdio.Env["PATH"] != "PATH" || s.Stdio.Env["HOME"] != "HOME" {
			t.Errorf("%s: %v %v", command, s.Startup, s.Stdio.Env)
		}
	}
	found, err := Import([]byte(`{"mcpServers": {"a": {"command": "mine"}}}`), nil)
	if err != nil || len(found.Servers[0].Stdio.Env) != 0 {
		t.Errorf("%+v %v", found, err)
	}
}

func TestImportErrors(t *testing.T) {
	for _, text := range []string{
		"", "[]", "null", "5", `{"a": 1}`, `{"mcpServers": 5}`, `{"mcpServers": [5]}`, `{"servers": [{"command": "x"}]}`, `{"mcpServers": {}`,
		`{"mcpServers": {"a": {}, "a": {}}}`, `{"mcpServers": {}} {}`, strings.Repeat("[", 100_000), strings.Repeat(" ", MaxFile+1), `{"mcp": {"mcp": {}}}`, "/*",
	} {
		if found, err := Import([]byte(text), nil); err == nil {
			t.Errorf("%.40q: %+v", text, found)
		}
	}
	_, err := Import([]byte("{\n  \"mcpServers\": {\n    x\n"), nil)
	if err == nil || !strings.Contains(err.Error(), "line 3, column 5") {
		t.Errorf("no place: %v", err)
	}
}

// FuzzImport: whatever is imported can be added to a file, and no literal comes along.
func FuzzImport(f *testing.F) {
	paths, _ := filepath.Glob("testdata/imports/*.txtar")
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		_, text, _ := strings.Cut(string(data), "-- input.json --\n")
		text, _, _ = strings.Cut(text, "\n-- ")
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		found, err := Import(data, nil)
		if err != nil {
			return
		}
		var text []byte
		for _, server := range found.Servers {
			if text, err = addTo("f", text, server); err != nil {
				t.Fatal(err)
			}
		}
		if len(found.Servers) > 0 && len(text) < MaxFile {
			if _, err := Parse("f", text); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
		}
	})
}
