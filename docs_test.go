package cupule

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestReadmeShowsWhatIsCompiled holds the README's program to the one that is built.
func TestReadmeShowsWhatIsCompiled(t *testing.T) {
	readme := read(t, "README.md")
	_, program, _ := strings.Cut(read(t, "examples/embed/main.go"), "\nfunc main() {")
	if !strings.Contains(readme, "```go\nfunc main() {"+program+"```") {
		t.Error("the README's program is not examples/embed/main.go")
	}
	if n := strings.Count(readme, "\n"); n > 150 {
		t.Errorf("the README has %d lines, more than 150", n)
	}
}

var code = regexp.MustCompile("(?s)```go\n(.*?)```")

// TestCodeInDocsIsCompiled looks for each piece of Go in a file that is built.
func TestCodeInDocsIsCompiled(t *testing.T) {
	files, err := filepath.Glob("examples/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var compiled strings.Builder
	for _, file := range files {
		compiled.WriteString(read(t, file))
	}
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		for _, piece := range code.FindAllStringSubmatch(read(t, page), -1) {
			if !strings.Contains(compiled.String(), piece[1]) {
				t.Errorf("%s shows code that is in no example:\n%s", page, piece[1])
			}
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)

// TestLinksLead checks that what the documents link to exists.
func TestLinksLead(t *testing.T) {
	files, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, "README.md") {
		for _, match := range link.FindAllStringSubmatch(read(t, file), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), match[1])); err != nil {
				t.Errorf("%s links to %s: %v", file, match[1], err)
			}
		}
	}
}
