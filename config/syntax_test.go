package config

import (
	"strings"
	"testing"
)

// mistakesOfUsers are texts that are no YAML: where each is wrong, marked by ^ before the
// character, and what is said about it.
var mistakesOfUsers = []struct{ name, text, want string }{
	{"tab", "mcp:\n  a:\n^\tstdio: {command: x}\n", "a tab stands here"},
	{"tab behind blanks", "mcp:\n  ^\ta: {}\n", "a tab stands here"},
	{"tab in the first line", "^\tmcp: {}\n", "a tab stands here"},
	{"open double quote", "mcp:\n  a: ^\"abc\n  b: 'd'\n", "the quote that opens here"},
	{"open single quote", "mcp:\n  ü: {b: \"c\", d: ^'x}\n    allowed: {}\n", "the quote that opens here"},
	{"open quote in the first line", "mcp: ^\"x", "the quote that opens here"},
	{"open quote behind another", "mcp:\n  a: ['b', \"c\", ^'d]\n", "the quote that opens here"},
	{"text behind a quote", "mcp:\n  a: \"x\"^y\n", "the value ended before this"},
	{"quote in quotes", "operations:\n  a: {effects: []}\n  b:\n    description: 'it'^s'\n", "where '' stands for '"},
	{"open brace", "mcp:\n  a:\n    stdio: ^{command: x\n    allowed: {}\n", "what opens here is never closed"},
	{"open bracket", "mcp:\n  a:\n    stdio:\n      args: ^[a, b\nserve: {}\n", "what opens here is never closed"},
	{"wrong bracket", "serve:\n  listen: [ä, b^}\n", "a bracket of the other kind"},
	{"one brace too many", "mcp: {a: {b: c}}^}\n", "the value ended before this: remove it"},
	{"brace in its own line", "mcp: {}\n^}\n", "or remove it"},
	{"no comma", "mcp: {a: 1 b^: 2}\n", "a comma is missing before this"},
	{"no comma between lines", "{\"mcp\": {\"a\": 1}\n\"serve^\": {}}\n", "a comma is missing before this"},
	{"two commas", "mcp: {a: 1, ^, b: 2}\n", "a value is missing before this"},
	{"colon in braces", "operations:\n  a: {description: b^: c, tool: d/e}\n", "put text that holds a colon in quotes"},
	{"colon in text", "operations:\n  a:\n    description: what^: it does\n", "put text that holds one in quotes"},
	{"no colon before a mapping", "mcp\n  a^: {}\n", "the colon that the line above lacks"},
	{"no colon deeper", "mcp:\n  a\n    stdio^: {command: x}\n", "the colon that the line above lacks"},
	{"no colon beside keys", "mcp:\n  a:\n    startup: 3\n    ^timeout 5\n    allowed: {}\n", "a colon is missing in this line"},
	{"indented less", "mcp:\n  a:\n    startup: 3\n   ^allowed: {}\n", "indent it like the keys beside it"},
	{"indented more", "mcp:\n  a:\n    startup: 3\n      allowed^: {}\n", "mend the indentation"},
	{"first line indented", "  mcp: {}\n^serve: {}\n", "mend its indentation"},
	{"second line indented", "mcp: {}\n  ^serve: {}\n", "indent it like the keys beside it"},
	{"list indented less", "serve:\n  listen:\n    - a\n   ^- b\n", "indent it like the keys beside it"},
	{"list, then a key", "- mcp: {}\nserve^: {}\n", "this is no entry of the list above"},
	{"list in the line of its key", "operations: ^- a\n", "begin it in the next line"},
	{"at sign", "operations:\n  a:\n    description: ^@x\n", "no value can begin so: put it in quotes"},
	{"backquote", "operations:\n  a: {description: ^`x`}\n", "no value can begin so: put it in quotes"},
	{"star alone", "callers: {a: {operations: [b, ^*]}}\n", "* and & take a name"},
	{"star before a name", "callers: {a: {operations: [b, ^*c]}}\n", "no & in front of it names *c"},
	{"Windows path", "mcp: {a: {stdio: {command: \"C:^\\users\"}}}\n", "use single quotes"},
	{"escapes that exist", "operations:\n  a:\n    description: \"\\\\x \\x41 \\u00e4 ^\\x4g\"\n", "2, 4 and 8 hexadecimal digits"},
	{"unknown escape", "mcp: {a: {stdio: {command: \"C:^\\Tools\"}}}\n", "there is no such escape"},
	{"text beside |", "operations:\n  a:\n    ^description: |x\n", "only a comment may follow | and >"},
}

func TestMistakes(t *testing.T) {
	for _, test := range mistakesOfUsers {
		before, after, marked := strings.Cut(test.text, "^")
		text := before + after
		for _, end := range []string{"\n", "\r\n"} {
			data := []byte(strings.ReplaceAll(text, "\n", end))
			_, err := Parse("f", data)
			all, ok := err.(*Error)
			if !ok || len(all.Problems) != 1 {
				t.Fatalf("%s: %v", test.name, err)
			}
			line, column := strings.Count(before, "\n")+1, len(before)-strings.LastIndexByte(before, '\n')
			p := all.Problems[0]
			if !marked || p.Line != line || p.Column != column || !strings.Contains(p.Message, test.want) || !strings.HasPrefix(p.Message, "this is no YAML: ") {
				t.Errorf("%s: got %v, want %d:%d: %s", test.name, p, line, column, test.want)
			}
		}
	}
}
