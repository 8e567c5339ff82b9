package config

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
)

var (
	yamlLine      = regexp.MustCompile(`^line (\d+): `)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced`)
	// These come from yaml.v3's parser, whose line numbers start at zero.
	fromParser = regexp.MustCompile(`did not find expected|found undefined tag handle|found duplicate|found incompatible`)
	unclosed   = regexp.MustCompile(`did not find expected (',' or|node content)`)
	opening    = regexp.MustCompile(`(?m)(?:^|: |- ) *([{\[])`)
)

// syntax turns an error of yaml.v3, which knows at most the line, into a problem that says
// where it is and what to do.
func (s *source) syntax(err error) []Problem {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1])
		message = message[len(m[0]):]
		if fromParser.MatchString(message) {
			line++
		}
	} else if m := unknownAnchor.FindStringSubmatch(message); m != nil {
		return s.noYAML(s.alias(m[1]), "no & in front of it names *"+clip(m[1])+": correct the name, or put text that begins with * in quotes")
	}
	if tab := s.tab(line); tab >= 0 && strings.Contains(message, "cannot start any token") {
		return s.noYAML(tab, "a tab stands here, indent with spaces")
	}
	if unclosed.MatchString(message) {
		if at := s.unclosed(line); at >= 0 {
			return s.noYAML(at, "what opens here is never closed")
		}
	}
	return s.mistaken(line, message)
}

func (s *source) noYAML(offset int, message string) []Problem {
	return s.refuse(offset, "this is no YAML: "+message)
}

// alias returns the offset at which an alias of this name stands first, outside of comments.
func (s *source) alias(name string) int {
	there := regexp.MustCompile(`(?m)^(?:[^#\n]|[^ \n]#)*?(?:^|[ \[{,])(\*` + regexp.QuoteMeta(name) + `)(?:[ \]},:]|\r?$)`)
	if m := there.FindSubmatchIndex(s.data); m != nil {
		return m[2]
	}
	return 0
}

// unclosed returns the offset of the brace or bracket, up to a line, that nothing closes, or -1.
func (s *source) unclosed(line int) int {
	until, closed := len(s.data), 0
	if line < len(s.lines) {
		until = s.lines[line].byte
	}
	for _, m := range opening.FindAllSubmatchIndex(s.data[:until], -1) {
		if m[2] < closed {
			continue
		}
		f, ok := s.flow(m[2])
		if !ok {
			return m[2]
		}
		closed = f.end
	}
	return -1
}

// tab returns the offset of a tab in the indentation of a line, or -1.
func (s *source) tab(line int) int {
	from := s.begin(line)
	text := s.data[from:]
	indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
	if i := bytes.IndexByte(indent, '\t'); i >= 0 {
		return from + i
	}
	return -1
}
