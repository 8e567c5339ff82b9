package config

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// mistake is how yaml.v3 words an error, how its place is found, and what to say.
type mistake struct {
	words  string
	find   func(s *source, line int, message string) int
	advice string
	behind string // instead, where a value stands before it in the line
}

var mistakes = []mistake{
	{"mapping values are not allowed", (*source).first,
		"no key can stand here: mend the indentation, or write the colon that the line above lacks",
		"no second colon can stand here: put text that holds one in quotes"},
	{"did not find expected key", (*source).first,
		"this doesn't continue what stands above: indent it like the keys beside it, or remove it",
		"the value ended before this: remove it, or put the whole value in quotes, where '' stands for '"},
	{"did not find expected '-' indicator", (*source).first, "this is no entry of the list above: begin it with -, or mend its indentation", ""},
	{"expected <document start>", (*source).first, "this doesn't continue what stands above: mend its indentation", ""},
	{"block sequence entries are not allowed", (*source).first, "no list can begin here: begin it in the next line, or put text that begins with - in quotes", ""},
	{"cannot start any token", (*source).first, "no value can begin so: put it in quotes", ""},
	{"did not find expected ',' or", (*source).firstInside, "a comma is missing before this, or a bracket of the other kind is due; put text that holds a colon in quotes", ""},
	{"did not find expected node content", (*source).firstInside, "a value is missing before this", ""},
	{"could not find expected ':'", (*source).firstText, "a colon is missing in this line: write KEY: VALUE, or mend the indentation", ""},
	{"unexpected end of stream", (*source).quote, "the quote that opens here is never closed", ""},
	{"unknown escape character", (*source).escape, `there is no such escape: write \\ for a backslash, or use single quotes`, ""},
	{"hexdecimal number", (*source).escape, `\x, \u and \U take 2, 4 and 8 hexadecimal digits: write \\ for a backslash, or use single quotes`, ""},
	{"alphabetic or numeric character", (*source).nameless, "* and & take a name of letters and digits: put text that begins so in quotes", ""},
	{"expected comment or line break", (*source).firstText, "only a comment may follow | and > in their line: write the text in the lines below", ""},
}

// mistaken returns the problem that an error of yaml.v3 in these words stands for.
func (s *source) mistaken(line int, message string) []Problem {
	for _, m := range mistakes {
		if !strings.Contains(message, m.words) {
			continue
		}
		at := m.find(s, line, message)
		before := s.data[bytes.LastIndexByte(s.data[:at], '\n')+1 : at]
		if m.behind != "" && bytes.Contains(before, []byte(": ")) {
			return s.noYAML(at, m.behind)
		}
		return s.noYAML(at, m.advice)
	}
	return s.noYAML(s.firstText(line, message), clip(message))
}

// maxSought bounds the files in which places are sought: each takes some twenty readings.
const maxSought = 256 << 10

// maxQuotes bounds the quotes of a line that are looked at, from its end.
const maxQuotes = 32

// first returns the offset of the character with which the text becomes wrong in this way.
func (s *source) first(line int, message string) int {
	return s.shortest(line, message, func(text []byte) []byte { return text })
}

// firstInside is first within braces and brackets, which are open until they are closed.
func (s *source) firstInside(line int, message string) int {
	return s.shortest(line, message, closed)
}

// shortest looks for the shortest beginning of the text that is wrong in this way, and returns
// the offset of its last character.
func (s *source) shortest(line int, message string, complete func([]byte) []byte) int {
	if len(s.data) > maxSought {
		return s.firstText(line, message)
	}
	wrong := func(end int) bool { return fails(complete(s.data[:whole(s.data, end)]), message) }
	end := whole(s.data, sort.Search(len(s.data), wrong))
	if end == 0 || !wrong(end) {
		return s.firstText(line, message)
	}
	_, size := utf8.DecodeLastRune(s.data[:end])
	return end - size
}

// whole returns the end of the character that an offset is in, or the offset.
func whole(text []byte, at int) int {
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return at
}

// fails reports whether yaml.v3 refuses a text in these words, whatever the line.
func fails(text []byte, message string) (is bool) {
	defer func() { _ = recover() }() // as parse does
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var n yaml.Node
		if err := decoder.Decode(&n); err != nil {
			return !errors.Is(err, io.EOF) && strings.HasSuffix(err.Error(), message)
		}
	}
}

// closed returns a text with what closes the braces and brackets that are open at its end.
// Quotes and comments hold none.
func closed(text []byte) []byte {
	var open []byte
	for i := 0; i < len(text); i++ {
		fresh := i == 0 || bytes.IndexByte([]byte(" \t\n{[,:"), text[i-1]) >= 0
		switch c := text[i]; {
		case c == '{' || c == '[':
			open = append(open, c+2)
		case c == '}' || c == ']':
			open = open[:max(len(open)-1, 0)]
		case (c == '"' || c == '\'') && fresh:
			i += quoted(text[i:]) - 1
		case c == '#' && fresh:
			i += lineLength(text[i:])
		}
	}
	slices.Reverse(open)
	return slices.Concat(text, []byte("\n"), open)
}

// begin returns the offset at which a line begins, or the last one.
func (s *source) begin(line int) int {
	if len(s.lines) == 0 {
		return 0
	}
	return s.lines[min(max(line, 1), len(s.lines))-1].byte
}

// firstText returns the offset of the first character of a line that is not blank.
func (s *source) firstText(line int, _ string) int {
	from := s.begin(line)
	text := s.data[from : from+lineLength(s.data[from:])]
	return from + len(text) - len(bytes.TrimLeft(text, " "))
}

// quote returns the offset of the quote in a line that nothing closes: what stands before it
// has no such quote.
func (s *source) quote(line int, message string) int {
	from := s.begin(line)
	end := from + lineLength(s.data[from:])
	for range maxQuotes {
		at := bytes.LastIndexAny(s.data[from:end], `'"`)
		if at < 0 {
			break
		}
		if end = from + at; !fails(s.data[:end], message) {
			return end
		}
	}
	return s.firstText(line, message)
}

var (
	wrongEscape  = regexp.MustCompile(`(?:^|[^\\])(?:\\\\)*(\\(?:[^0abt\tnvfre "/\\N_LPxuU\n]|x[[:xdigit:]]?[^[:xdigit:]]|u[[:xdigit:]]{0,3}[^[:xdigit:]]|U[[:xdigit:]]{0,7}[^[:xdigit:]]))`)
	namelessMark = regexp.MustCompile(`(?:^|[ \[{,])([*&])(?:[^0-9A-Za-z_-]|$)`)
)

// escape returns the offset of the first unknown escape from a line on.
func (s *source) escape(line int, message string) int {
	if m := wrongEscape.FindSubmatchIndex(s.data[s.begin(line):]); m != nil {
		return s.begin(line) + m[2]
	}
	return s.firstText(line, message)
}

// nameless returns the offset of the first * or & without a name in a line.
func (s *source) nameless(line int, message string) int {
	from := s.begin(line)
	if m := namelessMark.FindSubmatchIndex(s.data[from : from+lineLength(s.data[from:])]); m != nil {
		return from + m[2]
	}
	return s.firstText(line, message)
}
