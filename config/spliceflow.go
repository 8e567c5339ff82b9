package config

import (
	"bytes"

	"gopkg.in/yaml.v3"
)

// flowMap is where the parts of a mapping in braces stand.
type flowMap struct {
	begin, end int   // of the mapping, braces included
	commas     []int // between its entries
	last       int   // behind the last byte that is neither blank nor comment, before the brace
	ends       []int // the same, before each comma
}

// flow finds the parts of the mapping, or the list, that begins at an offset.
func (s *source) flow(at int) (flowMap, bool) {
	f := flowMap{begin: at, last: at + 1}
	if at >= len(s.data) || s.data[at] != '{' && s.data[at] != '[' {
		return f, false
	}
	depth, fresh := 0, true // fresh: a quote here would begin a quoted text
	for i := at; i < len(s.data); {
		c, size := s.data[i], 1
		switch {
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				f.end = i + 1
				return f, true
			}
		case c == ',' && depth == 1:
			f.commas, f.ends = append(f.commas, i), append(f.ends, f.last)
		case (c == '"' || c == '\'') && fresh:
			size = quoted(s.data[i:])
		case c == '#' && bytes.IndexByte([]byte(" \t\n{[,"), s.data[i-1]) >= 0:
			i += lineLength(s.data[i:])
			continue
		}
		i += size
		if blankByte := c == ' ' || c == '\t' || c == '\r' || c == '\n'; !blankByte {
			fresh = bytes.IndexByte([]byte("{[,:"), c) >= 0
			f.last = max(f.last, i)
		} else {
			fresh = true
		}
	}
	return f, false
}

// behindAnchor returns the offset of what follows the anchor at an offset, in its line.
func (p *page) behindAnchor(at int) int {
	if at >= len(p.data) || p.data[at] != '&' {
		return at
	}
	at += wordLength(p.data[at:])
	return at + len(p.data[at:]) - len(bytes.TrimLeft(p.data[at:], " "))
}

// wordLength returns how many bytes stand before the first blank.
func wordLength(text []byte) int {
	if i := bytes.IndexAny(text, " \t\r\n"); i >= 0 {
		return i
	}
	return len(text)
}

// quoted returns the length of the quoted text that text begins with.
func quoted(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[0] == '"' && text[i] == '\\':
			i++
		case text[i] == text[0] && text[0] == '\'' && i+1 < len(text) && text[i+1] == '\'':
			i++
		case text[i] == text[0]:
			return i + 1
		}
	}
	return len(text)
}

func lineLength(text []byte) int {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return i
	}
	return len(text)
}

// addToFlow writes an entry behind the last one of a mapping in braces.
func (p *page) addToFlow(n *yaml.Node, name string, write func(quote bool) string) ([]byte, error) {
	f, ok := p.flow(p.behindAnchor(p.start(n)))
	if !ok {
		return nil, p.stuck()
	}
	quote := len(p.root.Content) > 0 && p.root.Content[0].Style&yaml.DoubleQuotedStyle != 0
	entry := flowText(name, quote) + ": " + write(quote)
	switch count := len(f.commas); {
	case len(n.Content) == 0 && p.data[f.begin+1] == '#':
		return p.splice(f.begin+1, f.begin+1, entry+" "), nil
	case len(n.Content) == 0:
		return p.splice(f.begin+1, f.begin+1, entry), nil
	case count > 0 && f.last == f.commas[count-1]+1:
		return p.splice(f.last, f.last, " "+entry+","), nil
	default:
		return p.splice(f.last, f.last, ", "+entry), nil
	}
}

// removeFromFlow takes an entry out of a mapping in braces, with one comma.
func (p *page) removeFromFlow(n, key *yaml.Node) ([]byte, error) {
	f, ok := p.flow(p.behindAnchor(p.start(n)))
	if !ok {
		return nil, p.stuck()
	}
	at, i := p.start(key), 0
	for i < len(f.commas) && f.commas[i] < at {
		i++
	}
	from, to := at, f.last
	if i < len(f.commas) {
		to = f.commas[i]
	}
	switch {
	case i > 0 && len(bytes.Trim(p.data[f.commas[i-1]+1:at], " \r\n")) == 0:
		from = f.commas[i-1]
	case i < len(f.commas):
		to++
		to += len(p.data[to:]) - len(bytes.TrimLeft(p.data[to:], " "))
	}
	from, to = p.wholeLine(from, to)
	return p.splice(from, to, ""), nil
}

// wholeLine extends a range to its line where only blanks are left of that.
func (p *page) wholeLine(from, to int) (int, int) {
	begin := bytes.LastIndexByte(p.data[:from], '\n') + 1
	end := to + lineLength(p.data[to:])
	if begin == 0 || end == len(p.data) || len(bytes.TrimSpace(p.data[begin:from]))+len(bytes.TrimSpace(p.data[to:end])) > 0 {
		return from, to
	}
	return begin, end + 1
}
