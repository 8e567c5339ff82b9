package config

import (
	"os"
	"testing"
)

// emptied are files with one server, what is left when it is removed, and what becomes of
// that when another is added.
var emptied = []struct{ name, one, none, other string }{
	{"braces", "mcp: {a: {stdio: {command: a}}}\n", "mcp: {}\n", "mcp:\n  b:\n    stdio:\n      command: x\n    allowed: {}\n"},
	{"braces, no final newline", "mcp: {a: {stdio: {command: a}}}", "mcp: {}", "mcp:\n  b:\n    stdio:\n      command: x\n    allowed: {}"},
	{"a comment behind braces", "mcp: { a: {stdio: {command: a}} } # c", "mcp: {  } # c", "mcp: # c\n  b:\n    stdio:\n      command: x\n    allowed: {}"},
	{"a comment in braces", "mcp: {\n  a: {stdio: {command: a}}, # a\n}\n", "mcp: {\n  # a\n}\n",
		"mcp: {b: {stdio: {command: x}, allowed: {}}\n  # a\n}\n"},
	{"comments in braces, CR LF", "mcp: {\r\n  # c\r\n  a: {stdio: {command: a}} # a\r\n  # e\r\n}\r\nserve: {}\r\n", "mcp: {\r\n  # c\r\n   # a\r\n  # e\r\n}\r\nserve: {}\r\n",
		"mcp: {b: {stdio: {command: x}, allowed: {}}\r\n  # c\r\n   # a\r\n  # e\r\n}\r\nserve: {}\r\n"},
	{"a comment behind the entry", "mcp: {a: {stdio: {command: a}} # a\n}", "mcp: { # a\n}", "mcp: {b: {stdio: {command: x}, allowed: {}} # a\n}"},
	{"a comment at the brace", "mcp: {# c\n a: {stdio: {command: a}}}", "mcp: {# c\n }", "mcp: {b: {stdio: {command: x}, allowed: {}} # c\n }"},
	{"braces in their own lines", "mcp:\n  {\n  a: {stdio: {command: a}} # c\n  }\n", "mcp:\n  {\n   # c\n  }\n",
		"mcp:\n  {b: {stdio: {command: x}, allowed: {}}\n   # c\n  }\n"},
	{"in braces", "{mcp: {\n  a: {stdio: {command: a}}, # a\n}, serve: {}}\n", "{mcp: {\n  # a\n}, serve: {}}\n",
		"{mcp: {b: {stdio: {command: x}, allowed: {}}\n  # a\n}, serve: {}}\n"},
	{"an anchor before braces", "mcp: &m {a: {stdio: {command: a}}}\n", "mcp: &m {}\n", "mcp: &m\n  b:\n    stdio:\n      command: x\n    allowed: {}\n"},
	{"an anchor and a comment", "mcp: &m # c\n  a: {stdio: {command: a}}\n", "mcp: &m {} # c\n", "mcp: &m # c\n  b:\n    stdio:\n      command: x\n    allowed: {}\n"},
	{"an anchor alone", "mcp: &m\n  a: {stdio: {command: a}}\nserve: {}", "mcp: &m {}\nserve: {}", "mcp: &m\n  b:\n    stdio:\n      command: x\n    allowed: {}\nserve: {}"},
	{"an anchor of the server", "mcp: # c\n  a: &x\n    stdio: {command: a} # x\n    # y\n# e", "mcp: {} # c\n    # y\n# e",
		"mcp: # c\n  b:\n    stdio:\n      command: x\n    allowed: {}\n    # y\n# e"},
	{"lines, CR LF", "mcp: # c\r\n  # d\r\n  a: {stdio: {command: a}}\r\n  # e\r\nserve: {}", "mcp: {} # c\r\n  # d\r\n  # e\r\nserve: {}",
		"mcp: # c\r\n  b:\r\n    stdio:\r\n      command: x\r\n    allowed: {}\r\n  # d\r\n  # e\r\nserve: {}"},
	{"blanks behind braces", "mcp:   {a: {stdio: {command: a}}}  \r\nserve: {}", "mcp:   {}  \r\nserve: {}",
		"mcp:\r\n  b:\r\n    stdio:\r\n      command: x\r\n    allowed: {}\r\nserve: {}"},
	{"the last key", "serve: {}\nmcp:\n  a: {stdio: {command: a}}\n", "serve: {}\nmcp: {}\n", "serve: {}\nmcp:\n  b:\n    stdio:\n      command: x\n    allowed: {}\n"},
	{"blank lines", "mcp:\n\n  # d\n\n  a: {stdio: {command: a}}\n\nserve: {}\n", "mcp: {}\n\n  # d\n\n\nserve: {}\n",
		"mcp:\n  b:\n    stdio:\n      command: x\n    allowed: {}\n\n  # d\n\n\nserve: {}\n"},
}

func TestEmptiedAndFilled(t *testing.T) {
	for _, test := range emptied {
		file := write(t, test.one)
		for _, step := range []struct {
			do   []string
			want string
		}{
			{[]string{"remove", "a"}, test.none},
			{[]string{"add", "b"}, test.other},
			{[]string{"add", "c"}, ""},
			{[]string{"remove", "c"}, test.other},
		} {
			if err := edit(file, step.do); err != nil {
				t.Errorf("%s: %v: %v", test.name, step.do, err)
				break
			}
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if step.want != "" && string(got) != step.want {
				t.Errorf("%s: %v\n got %q\nwant %q", test.name, step.do, got, step.want)
			}
		}
	}
}
