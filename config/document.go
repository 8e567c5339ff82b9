package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// parse returns the root node of the file's one document, and what is wrong with the file:
// nothing, that there is no such node, or what follows the document.
func (s *source) parse() (root *yaml.Node, problems []Problem) {
	defer func() {
		if r := recover(); r != nil {
			root, problems = nil, s.syntax(fmt.Errorf("the YAML can't be read: %v", r))
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(s.data))
	var document, second yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, s.refuse(0, "the file is empty: write at least one of mcp, operations, callers and serve")
	} else if err != nil {
		return nil, s.syntax(err)
	}
	root = document.Content[0]
	switch err := decoder.Decode(&second); {
	case err == nil:
		at := s.position(second.Line, second.Column)
		return root, s.problem(at.Line, at.Column, "a second document begins here: a configuration is one document, remove the line ---")
	case !errors.Is(err, io.EOF):
		return root, s.syntax(err)
	}
	return root, nil
}

func (s *source) problem(line, column int, message string) []Problem {
	return []Problem{{File: s.name, Line: line, Column: column, Message: message}}
}

var (
	yamlLine      = regexp.MustCompile(`^line (\d+): `)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced`)
	// These come from yaml.v3's parser, whose line numbers start at zero.
	fromParser = regexp.MustCompile(`did not find expected|found undefined tag handle|found duplicate|found incompatible`)
	unclosed   = regexp.MustCompile(`did not find expected (',' or|node content)`)
	opening    = regexp.MustCompile(`(?m)(?:^|: |- ) *([{\[])`)
)

// syntax turns an error of yaml.v3, which knows at most the line, into a problem.
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
		line, column := s.alias(m[1])
		return s.problem(line, column, "this is no YAML: "+clip(message))
	}
	if tab := s.tab(line); tab > 0 && strings.Contains(message, "cannot start any token") {
		return s.problem(line, tab, "this is no YAML: a tab stands here, indent with spaces")
	}
	if unclosed.MatchString(message) {
		if line, column := s.unclosed(line); line > 0 {
			return s.problem(line, column, "this is no YAML: what opens here is never closed")
		}
	}
	return s.problem(s.position(line, 1).Line, 1, "this is no YAML: "+clip(message))
}

// alias returns where an alias of this name stands first, outside of comments.
func (s *source) alias(name string) (line, column int) {
	there := regexp.MustCompile(`(?m)^(?:[^#\n]|[^ \n]#)*?(?:^|[ \[{,])(\*` + regexp.QuoteMeta(name) + `)(?:[ \]},:]|\r?$)`)
	if m := there.FindSubmatchIndex(s.data); m != nil {
		return s.lineColumn(m[2])
	}
	return 1, 1
}

// unclosed returns where the brace or bracket stands, up to a line, that nothing closes.
func (s *source) unclosed(line int) (int, int) {
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
			return s.lineColumn(m[2])
		}
		closed = f.end
	}
	return 0, 0
}

// lineColumn returns the line and the column in bytes, both from 1, of an offset.
func (s *source) lineColumn(offset int) (line, column int) {
	before := s.data[:offset]
	return bytes.Count(before, []byte("\n")) + 1, offset - bytes.LastIndexByte(before, '\n')
}

// tab returns the column of a tab in the indentation of a line, or 0.
func (s *source) tab(line int) int {
	lines := bytes.SplitN(s.data, []byte("\n"), line+1)
	if line > len(lines) {
		return 0
	}
	text := lines[line-1]
	indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
	return bytes.IndexByte(indent, '\t') + 1
}
