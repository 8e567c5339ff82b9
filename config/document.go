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

// parse returns the root node of the file's one document, or why there is none.
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
	switch err := decoder.Decode(&second); {
	case err == nil:
		at := s.position(second.Line, second.Column)
		return nil, []Problem{{File: s.name, Line: at.Line, Column: at.Column,
			Message: "a second document begins here: a configuration is one document, remove the line ---"}}
	case !errors.Is(err, io.EOF):
		return nil, s.syntax(err)
	}
	return document.Content[0], nil
}

var (
	yamlLine      = regexp.MustCompile(`^line (\d+): `)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced`)
	// These come from yaml.v3's parser, whose line numbers start at zero.
	fromParser = regexp.MustCompile(`did not find expected|found undefined tag handle|found duplicate|found incompatible`)
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
		line += bytes.Count(s.data[:max(bytes.Index(s.data, []byte("*"+m[1])), 0)], []byte("\n"))
	}
	at := s.position(line, 1)
	if tab := s.tab(line); tab > 0 && strings.Contains(message, "cannot start any token") {
		return []Problem{{File: s.name, Line: line, Column: tab, Message: "this is no YAML: a tab stands here, indent with spaces"}}
	}
	return []Problem{{File: s.name, Line: at.Line, Column: 1, Message: "this is no YAML: " + clip(message)}}
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
