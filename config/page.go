package config

import (
	"bytes"
	"fmt"

	"github.com/cupule/cupule/effects"
	"gopkg.in/yaml.v3"
)

var noPlace effects.Position

// page is the text of a file that is to be edited, with the nodes around its servers.
type page struct {
	*source
	root    *yaml.Node // nil where the file holds nothing
	key     *yaml.Node // mcp
	mcp     *yaml.Node // its value
	next    *yaml.Node // the key after mcp, nil where mcp is the last
	newline string
}

func newPage(file string, text []byte) (*page, error) {
	p := &page{newline: "\n"}
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		p.newline = "\r\n"
	}
	var problems []Problem
	if p.source, problems = newSource(file, text); problems != nil {
		return nil, &Error{Problems: problems}
	}
	if blank(text) {
		return p, nil
	}
	if p.root, problems = p.parse(); problems != nil {
		return nil, &Error{Problems: problems}
	}
	if p.root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("config: %s holds no mapping: it can't be edited", file)
	}
	p.find()
	return p, nil
}

// find looks for mcp. Where it stands twice the file is wrong, which is told elsewhere.
func (p *page) find() {
	for i := 0; i+1 < len(p.root.Content); i += 2 {
		if p.key != nil {
			p.next = p.root.Content[i]
			return
		}
		if p.root.Content[i].Value == "mcp" {
			p.key, p.mcp = p.root.Content[i], p.root.Content[i+1]
		}
	}
}

// blank reports whether text holds nothing but blanks and comments.
func blank(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// start returns the offset at which a node's text begins.
func (p *page) start(n *yaml.Node) int { return p.offset(n.Line, n.Column) }

// lineOf returns the offset at which a line begins, or the end of the text.
func (p *page) lineOf(line int) int {
	if line > len(p.lines) {
		return len(p.data)
	}
	return p.lines[line-1].byte
}

// splice returns the text with what stands between two offsets replaced.
func (p *page) splice(from, to int, insert string) []byte {
	out := make([]byte, 0, len(p.data)+len(insert)-(to-from))
	out = append(out, p.data[:from]...)
	out = append(out, insert...)
	return append(out, p.data[to:]...)
}

func (p *page) stuck() error { return uneditable(p.name) }
