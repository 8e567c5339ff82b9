package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"

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
