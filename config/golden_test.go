package config

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite golden files")

// golden runs each file of a folder: run fills the archive's files in, and what it fills
// in is compared with what stands there.
func golden(t *testing.T, folder string, run func(t *testing.T, files map[string]string) map[string]string) {
	paths, err := filepath.Glob(filepath.Join("testdata", folder, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden files in %s: %v", folder, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files := map[string]string{}
			for _, f := range archive.Files {
				files[f.Name] = string(f.Data)
			}
			compare(t, path, archive, run(t, files))
		})
	}
}

func compare(t *testing.T, path string, archive *txtar.Archive, got map[string]string) {
	t.Helper()
	for _, name := range sortedKeys(got) {
		i := fileIndex(archive, name)
		if i < 0 {
			archive.Files = append(archive.Files, txtar.File{Name: name})
			i = len(archive.Files) - 1
		}
		if diff := cmp.Diff(string(archive.Files[i].Data), got[name]); diff != "" && !*update {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		archive.Files[i].Data = []byte(got[name])
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func fileIndex(archive *txtar.Archive, name string) int {
	for i, f := range archive.Files {
		if f.Name == name {
			return i
		}
	}
	return -1
}

// problemsOf returns what Parse says, one problem per line.
func problemsOf(t testing.TB, name string, data []byte) string {
	t.Helper()
	cfg, err := Parse(name, data)
	if err == nil {
		return ""
	}
	var all *Error
	if !errors.As(err, &all) || len(all.Problems) == 0 || cfg != nil {
		t.Fatalf("Parse returned %v, %T %v", cfg, err, err)
	}
	return err.Error() + "\n"
}

func TestProblems(t *testing.T) {
	golden(t, "problems", func(t *testing.T, files map[string]string) map[string]string {
		return map[string]string{"problems": problemsOf(t, "app.yaml", []byte(files["app.yaml"]))}
	})
}
