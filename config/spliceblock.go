package config

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

const indent = 2

// addTo returns the text with a server added.
func addTo(file string, text []byte, server *Server) ([]byte, error) {
	if broken := notText(server); broken != "" {
		return nil, fmt.Errorf("config: server %q: %q is no valid UTF-8, so a file can't hold it", server.Alias, clip(broken))
	}
	p, err := newPage(file, text)
	if err != nil {
		return nil, err
	}
	switch {
	case p.root == nil:
		return p.append(0, server), nil
	case p.root.Style&yaml.FlowStyle != 0 && p.key == nil:
		return p.addToFlow(p.root, `mcp`, func(quote bool) string { return "{" + flowEntry(server, quote) + "}" })
	case p.key == nil:
		return p.append(p.root.Column-1, server), nil
	case isNull(p.mcp):
		return p.fill(server)
	case p.mcp.Kind != yaml.MappingNode:
		return nil, p.stuck()
	}
	if line, twice := p.aliases()[server.Alias]; twice {
		return nil, fmt.Errorf("config: %s has a server %q already, in line %d", file, server.Alias, line)
	}
	if p.mcp.Style&yaml.FlowStyle == 0 {
		return p.addToBlock(server)
	}
	if text, ok := p.open(server); ok {
		return text, nil
	}
	return p.addToFlow(p.mcp, server.Alias, func(quote bool) string { return flowServer(server, quote) })
}

func (p *page) aliases() map[string]int {
	m := map[string]int{}
	for i := 0; i+1 < len(p.mcp.Content); i += 2 {
		m[p.mcp.Content[i].Value] = p.mcp.Content[i].Line
	}
	return m
}

// block returns lines that declare a server, each with its end. Step is how far each
// level is indented.
func (p *page) block(margin, step int, server *Server) string {
	lines := blockServer(strings.Repeat(" ", margin), strings.Repeat(" ", step), server)
	return strings.ReplaceAll(lines, "\n", p.newline)
}

// append writes mcp at the end of the file.
func (p *page) append(margin int, server *Server) []byte {
	block := strings.Repeat(" ", margin) + "mcp:" + p.newline + p.block(margin+indent, indent, server)
	return p.insertLines(len(p.data), block)
}

// insertLines inserts whole lines at the beginning of a line, or at the end of a text,
// which keeps its lack of a final newline.
func (p *page) insertLines(at int, lines string) []byte {
	if at > 0 && p.data[at-1] != '\n' {
		lines = p.newline + strings.TrimSuffix(lines, p.newline)
	}
	return p.splice(at, at, lines)
}

// fill writes the first server below an mcp that holds null.
func (p *page) fill(server *Server) ([]byte, error) {
	if p.mcp.Value != "" || p.root.Style&yaml.FlowStyle != 0 {
		return nil, p.stuck()
	}
	return p.insertLines(p.lineOf(p.key.Line+1), p.block(p.key.Column-1+indent, indent, server)), nil
}

// open replaces {}, with the blanks around it, by lines where it stands in the line of its key
// and holds no line end.
func (p *page) open(server *Server) ([]byte, bool) {
	f, ok := p.flow(p.behindAnchor(p.start(p.mcp)))
	if !ok || len(p.mcp.Content) > 0 || p.mcp.Line != p.key.Line || p.root.Style&yaml.FlowStyle != 0 ||
		bytes.IndexByte(p.data[f.begin:f.end], '\n') >= 0 {
		return nil, false
	}
	from, to := len(bytes.TrimRight(p.data[:f.begin], " ")), f.end
	if rest := p.data[to : to+lineLength(p.data[to:])]; len(bytes.TrimSpace(rest)) == 0 {
		to += len(bytes.TrimRight(rest, "\r"))
	}
	rest := *p
	rest.data = p.splice(from, to, "")
	end := min(from+lineLength(rest.data[from:])+1, len(rest.data))
	return rest.insertLines(end, p.block(p.key.Column-1+indent, indent, server)), true
}

// addToBlock writes a server behind the last one.
func (p *page) addToBlock(server *Server) ([]byte, error) {
	last := p.mcp.Content[len(p.mcp.Content)-2]
	if !p.ownLine(last) {
		return nil, p.stuck()
	}
	return p.insertLines(p.endOf(last, p.next, last.Column), p.block(last.Column-1, max(last.Column-p.key.Column, 1), server)), nil
}

// ownLine reports whether nothing but blanks stands before a node in its line.
func (p *page) ownLine(n *yaml.Node) bool {
	return len(bytes.Trim(p.data[p.lineOf(n.Line):p.start(n)], " ")) == 0
}

// endOf returns where the lines of the entry at key end: behind its last line that is
// neither blank nor a comment. A line that looks like a comment counts where its margin
// is at least deep. Until is the next key, or nil.
func (p *page) endOf(key, until *yaml.Node, deep int) int {
	from, to := p.lineOf(key.Line), len(p.data)
	if until != nil {
		to = p.lineOf(until.Line)
	}
	end := from
	for at := from; at < to; {
		line := p.data[at:min(at+lineLength(p.data[at:to])+1, to)]
		if bytes.HasPrefix(line, []byte("...")) {
			break // the end of the document
		}
		at += len(line)
		content := bytes.TrimLeft(line, " ")
		margin := len(line) - len(content)
		if content = bytes.TrimSpace(content); len(content) > 0 && (content[0] != '#' || margin >= deep) {
			end = at
		}
	}
	return end
}

// textMargin returns the margin of the block of text that ends a value, of which any line
// may look like a comment; it is out of reach where the value ends otherwise.
func (p *page) textMargin(n *yaml.Node) int {
	for n.Kind != yaml.ScalarNode && len(n.Content) > 0 {
		n = n.Content[len(n.Content)-1]
	}
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		for line := range bytes.Lines(p.data[p.lineOf(n.Line+1):]) {
			if content := bytes.TrimLeft(line, " "); len(bytes.TrimSpace(content)) > 0 {
				return len(line) - len(content)
			}
		}
	}
	return MaxFile
}

// removeFrom returns the text with a server taken out.
func removeFrom(file string, text []byte, alias string) ([]byte, error) {
	p, err := newPage(file, text)
	if err != nil {
		return nil, err
	}
	if p.mcp == nil || p.mcp.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("config: %s has no server %q", file, clip(alias))
	}
	for i := 0; i+1 < len(p.mcp.Content); i += 2 {
		if p.mcp.Content[i].Value != alias {
			continue
		}
		if err := p.tied(p.mcp.Content[i], p.mcp.Content[i+1]); err != nil {
			return nil, err
		}
		if p.mcp.Style&yaml.FlowStyle != 0 {
			return p.removeFromFlow(p.mcp, p.mcp.Content[i])
		}
		return p.removeFromBlock(i)
	}
	return nil, fmt.Errorf("config: %s has no server %q%s", file, clip(alias), (&reader{}).suggest(alias, maps.Keys(p.aliases())))
}

func (p *page) removeFromBlock(i int) ([]byte, error) {
	key, until := p.mcp.Content[i], p.next
	if !p.ownLine(key) {
		return nil, p.stuck()
	}
	if i+2 < len(p.mcp.Content) {
		until = p.mcp.Content[i+2]
	}
	from, to := p.lineOf(key.Line), p.endOf(key, until, p.textMargin(p.mcp.Content[i+1]))
	if to == len(p.data) && p.data[to-1] != '\n' && from > 0 {
		from -= len(p.lineEnd(from))
	}
	rest := *p
	rest.data = p.splice(from, to, "")
	if len(p.mcp.Content) > 2 {
		return rest.data, nil
	}
	return rest.close(), nil
}

// lineEnd returns the line end that stands before an offset.
func (p *page) lineEnd(at int) string {
	if bytes.HasSuffix(p.data[:at], []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// close makes an mcp that lost its last server hold {}.
func (p *page) close() []byte {
	at := p.start(p.key)
	colon := at + bytes.IndexByte(p.data[at:], ':') + 1
	if value := colon + len(p.data[colon:]) - len(bytes.TrimLeft(p.data[colon:], " ")); p.behindAnchor(value) > value {
		colon = value + wordLength(p.data[value:])
	}
	return p.splice(colon, colon, " {}")
}

// notText returns a text of a server that is not valid UTF-8, or "".
func notText(server *Server) string {
	list := []string{server.Alias, server.Protocol}
	for _, rules := range []map[string]*Rule{server.Allowed, server.Resources, server.Prompts} {
		list = slices.AppendSeq(list, maps.Keys(rules))
	}
	if s := server.Stdio; s != nil {
		list = append(append(list, s.Command, s.Dir), s.Args...)
		list = slices.AppendSeq(slices.AppendSeq(list, maps.Keys(s.Env)), maps.Values(s.Env))
	}
	if h := server.HTTP; h != nil {
		list = append(list, h.URL, h.BearerTokenEnv, h.CAFile, h.ProxyEnv)
		list = slices.AppendSeq(slices.AppendSeq(list, maps.Keys(h.HeadersEnv)), maps.Values(h.HeadersEnv))
	}
	for _, text := range list {
		if !utf8.ValidString(text) {
			return text
		}
	}
	return ""
}
