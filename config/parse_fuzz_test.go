package config

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// Parse never panics, each problem lies inside the file, problems are sorted, and reading
// twice gives the same.
func FuzzParse(f *testing.F) {
	paths, _ := filepath.Glob("testdata/problems/*.txtar")
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(archive.Files[0].Data)
	}
	f.Add([]byte("&a [*a]"))
	f.Add([]byte("mcp: {a: &a {stdio: *a}}"))
	f.Add([]byte("\xef\xbb\xbf\r\n\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := Parse("f", data)
		again, errAgain := Parse("f", bytes.Clone(data))
		if !reflect.DeepEqual(cfg, again) || !reflect.DeepEqual(err, errAgain) {
			t.Fatalf("read twice: %v %v\n%v %v", cfg, err, again, errAgain)
		}
		if err == nil {
			return
		}
		var all *Error
		if !errors.As(err, &all) || len(all.Problems) == 0 || cfg != nil {
			t.Fatalf("%v, %v", cfg, err)
		}
		inside(t, data, all.Problems)
	})
}

func inside(t *testing.T, data []byte, problems []Problem) {
	lines := bytes.Split(data, []byte("\n"))
	last := Problem{Line: 1, Column: 1}
	for _, p := range problems {
		if p.Line < 1 || p.Line > len(lines) || p.Column < 1 || p.Column > len(lines[p.Line-1])+1 {
			t.Errorf("%s is outside of the file", p)
		}
		if p.Line < last.Line || p.Line == last.Line && p.Column < last.Column {
			t.Errorf("%s comes behind %s", p, last)
		}
		if p.Message == "" || p.File != "f" {
			t.Errorf("%+v says nothing", p)
		}
		last = p
		if strings.HasPrefix(p.Message, "unknown key") && !atKey(p, lines[p.Line-1][p.Column-1:]) {
			t.Errorf("%s doesn't point at its key but at %q", p, lines[p.Line-1][p.Column-1:])
		}
	}
}

// atKey reports whether text begins with the key that a problem is about, as far as the
// path tells it in plain letters.
func atKey(p Problem, text []byte) bool {
	key := p.Path[strings.LastIndexByte(p.Path, '.')+1:]
	if strings.ContainsAny(key, "\"[.") || len(text) == 0 || bytes.IndexByte([]byte("\"'&!"), text[0]) >= 0 {
		return true
	}
	begin, _, _ := bytes.Cut(text, []byte(key))
	return !bytes.ContainsAny(begin, " \t:,{}[]")
}

// TestCorpus keeps the seeds of the fuzz targets honest: each golden file has its input first.
func TestCorpus(t *testing.T) {
	paths, _ := filepath.Glob("testdata/problems/*.txtar")
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil || len(txtar.Parse(data).Files) == 0 || txtar.Parse(data).Files[0].Name != "app.yaml" {
			t.Errorf("%s: %v", path, err)
		}
	}
}
