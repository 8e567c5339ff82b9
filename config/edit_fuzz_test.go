package config

import (
	"strings"
	"testing"
)

// pieces of files, of which FuzzEdit makes texts.
var pieces = []string{
	"mcp:", "mcp: {", "mcp: {}", "\"mcp\": {", "\n", "\r\n", "  b:", "  c:", "    stdio: {command: x}", "    stdio:", "      command: x", "      args:",
	"      - |", "        # text", "      - 'a''b'", " # c", "# c", "  # c", "    # c", "      # c", "operations: {}", "callers: {}", "serve: {}",
	"b: {stdio: {command: x}}", "c: {stdio: {command: \"}, #\"}}", ",", " ", "}", "{", "  d: {stdio: {command: it's}}", "---", "...", "    d:", "        stdio: {command: x}",
	"é", "    stdio: {command: x,", "   args: [a, '}', b # c", "  ]}", "\"b\": {\"stdio\": {\"command\": \"x\"}}",
	"operations: {o: {effects: [mutation], params: {}, result: {}}}", "callers: {c: {token_env: T, operations: [o]}}", "serve: {listen: [unix:./s]}",
	"mcp: &m", "mcp: &m {# c", "  b: &b {stdio: {command: x}}",
}

func compose(choice []byte) string {
	var b strings.Builder
	for _, c := range choice {
		b.WriteString(pieces[int(c)%len(pieces)])
	}
	return b.String()
}

// FuzzEdit adds a server to whatever text and takes it away again: everything else stays
// byte for byte, and the text is what it was before; where it had no mcp, an empty one stays.
func FuzzEdit(f *testing.F) {
	f.Add("mcp: {}\n", []byte(nil), "a")
	f.Add("mcp:\n  b: {stdio: {command: x}}\n\n# end\n", []byte(nil), "a")
	f.Add("operations: {}\r\nmcp:\r\n  b: {stdio: {command: x}}", []byte(nil), "a")
	f.Add("{mcp: {b: {stdio: {command: x}}, }}", []byte(nil), "a")
	f.Add("mcp: {} # c\nserve: {}", []byte(nil), "a")
	f.Add("callers: {}\n# c\n\n", []byte(nil), "a")
	f.Add("mcp:\n  b:\n    stdio:\n      command: x\n      args:\n      - |\n        # no comment\n\n  # c\nserve: {}\n", []byte(nil), "c")
	f.Add("", []byte{0, 4, 6, 4, 8, 15, 4, 7, 4, 9, 4, 10, 4, 11, 4, 12, 4, 13, 4, 18, 4, 17, 4, 20, 4}, "a")
	f.Add("", []byte{20, 5, 1, 23, 25, 26, 24, 25, 4, 16, 4, 27, 16, 5}, "a")
	f.Fuzz(func(t *testing.T, text string, choice []byte, alias string) {
		text += compose(choice)
		cfg, err := Parse("f", []byte(text))
		if err != nil || cfg.MCP[alias] != nil {
			return
		}
		server := &Server{Alias: alias, Stdio: &Stdio{Command: "x"}}
		after, err := addTo("f", []byte(text), server)
		if err != nil || verify("f", []byte(text), after, []*Server{server}) != nil {
			return // refused: the file stays as it is
		}
		if !spliced(text, string(after)) {
			t.Fatalf("adding changed more than one place:\n%q\n%q", text, after)
		}
		back, err := removeFrom("f", after, alias)
		if err != nil {
			t.Fatalf("%q: %v", after, err)
		}
		if err := verifyAgainst(cfg, "f", back, nil); err != nil {
			t.Fatalf("%q: %v", back, err)
		}
		if string(back) != text && !bracesMoved(text, string(back)) && !emptyAdded(text, string(back)) {
			t.Errorf("before %q\nadded  %q\nback   %q", text, after, back)
		}
	})
}

// spliced reports whether after is before with text inserted in one place, the braces of
// an empty mapping apart.
func spliced(before, after string) bool {
	if inserted(before, after) {
		return true
	}
	for at := range before {
		if strings.HasPrefix(before[at:], "{}") && inserted(before[:at]+before[at+2:], after) {
			return true
		}
	}
	return strings.Contains(before, "{") // braces with blanks in them
}

func inserted(before, after string) bool {
	n := 0
	for n < len(before) && n < len(after) && before[n] == after[n] {
		n++
	}
	return strings.HasSuffix(after, before[n:])
}

// emptyAdded reports whether after is before with a last line that holds an empty mcp.
func emptyAdded(before, after string) bool {
	added, ok := strings.CutPrefix(after, before)
	return ok && strings.TrimSpace(added) == "mcp: {}"
}

// bracesMoved reports whether two texts differ in blanks around {} only, or in an empty
// mcp that was added to a file in braces.
func bracesMoved(a, b string) bool {
	strip := strings.NewReplacer(" ", "", "{", "", "}", "", ",", "", `"mcp":`, "", "mcp:", "").Replace
	return strings.Contains(a, "{") && strip(a) == strip(b)
}
