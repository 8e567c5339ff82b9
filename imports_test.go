package cupule

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/cupule/cupule"

// mayImport lists, for each package, the public packages of this module that it may use.
var mayImport = map[string][]string{
	"effects":           {},
	"config":            {"effects"},
	"registry":          {"effects"},
	"mcpclient":         {"effects", "config", "registry"},
	"mcpclient/mcptest": {},
	"jsonrpcserver":     {"registry", "effects"},
	".":                 {"effects", "config", "registry", "mcpclient", "jsonrpcserver"},
	"cmd/cupule":        {".", "effects", "config", "registry", "mcpclient", "jsonrpcserver"},
	"examples":          {".", "effects", "config", "registry", "mcpclient", "jsonrpcserver"},
	"internal":          {"effects"},
}

// noInternal lists the packages that may not use what is internal either.
var noInternal = []string{"effects", "cmd", "examples"}

// wellKnown lists the modules that each package may use beside the standard library; a
// package that is not listed is free.
var wellKnown = map[string][]string{"effects": {}}

func TestImportRule(t *testing.T) {
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "bench" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && file != ".") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") {
			pkg := filepath.ToSlash(filepath.Dir(file))
			seen[pkg] = true
			checkFile(t, file, pkg)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !seen["effects"] || !seen["registry"] || !seen["."] {
		t.Errorf("the walk missed packages: %v", seen)
	}
}

func checkFile(t *testing.T, file, pkg string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if problem := judgeImport(pkg, imported); problem != "" {
			t.Errorf("%s imports %s: %s", file, imported, problem)
		}
	}
}

func judgeImport(pkg, imported string) string {
	own, ours := strings.CutPrefix(imported, module)
	own = path.Clean("./" + strings.TrimPrefix(own, "/"))
	rule := pkg
	for _, family := range []string{"internal", "examples", "cmd"} {
		if strings.HasPrefix(pkg, family+"/") && mayImport[pkg] == nil {
			rule = family
		}
	}
	switch {
	case !ours:
		if allowed, listed := wellKnown[pkg]; listed && strings.Contains(imported, ".") && !slices.Contains(allowed, imported) {
			return "it may use the standard library only"
		}
	case strings.HasPrefix(own, "internal/"):
		if slices.Contains(noInternal, strings.Split(pkg, "/")[0]) {
			return "it may not use internal packages"
		}
	case mayImport[rule] == nil:
		return "its package has no line in mayImport: add one"
	case !slices.Contains(mayImport[rule], own):
		return "the layers do not allow it"
	}
	return ""
}

func TestImportRuleCanFail(t *testing.T) {
	for _, pair := range [][2]string{
		{"effects", module + "/registry"}, {"effects", "gopkg.in/yaml.v3"}, {"effects", module + "/internal/names"},
		{"config", module + "/registry"}, {"registry", module + "/mcpclient"}, {"jsonrpcserver", module + "/config"},
		{"cmd/cupule", module + "/internal/proc"}, {"examples/service", module + "/internal/proc"},
		{"internal/frame", module + "/registry"}, {"newcomer", module + "/effects"}, {"mcpclient", module},
	} {
		if judgeImport(pair[0], pair[1]) == "" {
			t.Errorf("%s may import %s", pair[0], pair[1])
		}
	}
}
