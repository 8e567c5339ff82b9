package config

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cupule/cupule/effects"
	"gopkg.in/yaml.v3"
)

// MaxExpanded bounds the values that all aliases of a file together may stand for.
const MaxExpanded = 10_000

// reader compares a tree of YAML nodes with a shape. It collects every problem and goes on.
type reader struct {
	*source
	problems []Problem
	// aliased is how many aliases enclose the node that is being read.
	aliased, expanded int
	guesses           int
}

// value is a part of the file that has the right shape. Its methods accept nil, which
// stands for what is missing or wrong: a problem tells of it already.
type value struct {
	at   effects.Position // of the value
	key  effects.Position // of the key that holds it, or of the value where there is none
	path string

	text   string
	number int64 // a count, nanoseconds or bytes
	flag   bool
	set    effects.Set
	places *effects.Positions
	raw    json.RawMessage
	items  []*value // of a list; nil where one is wrong

	keys []string // of a mapping, in the order of the file
	of   map[string]*value
}

func (v *value) get(key string) *value {
	if v == nil {
		return nil
	}
	return v.of[key]
}

func (v *value) has(key string) bool {
	if v == nil {
		return false
	}
	_, ok := v.of[key]
	return ok
}

func (v *value) string() string {
	if v == nil {
		return ""
	}
	return v.text
}

func (v *value) int() int64 {
	if v == nil {
		return 0
	}
	return v.number
}

func (v *value) bool() bool { return v != nil && v.flag }

// placesTo adds where the value and what it holds stand.
func (v *value) placesTo(places map[string]effects.Position) {
	if v == nil {
		return
	}
	places[v.path] = v.key
	for _, entry := range v.of {
		entry.placesTo(places)
	}
	for _, item := range v.items {
		item.placesTo(places)
	}
}

func (r *reader) at(n *yaml.Node) effects.Position { return r.position(n.Line, n.Column) }

func (r *reader) report(at effects.Position, path, format string, args ...any) {
	r.problems = append(r.problems, Problem{
		File: r.name, Line: at.Line, Column: at.Column, Path: path, Message: fmt.Sprintf(format, args...),
	})
}

// read returns what stands at n, or nil where that is not what s describes.
func (r *reader) read(n *yaml.Node, s *shape, path string) *value {
	n, leave := r.enter(n, path)
	if n == nil {
		return nil
	}
	defer leave()
	v := &value{at: r.at(n), key: r.at(n), path: path}
	if s.plain != nil && n.Kind == yaml.ScalarNode {
		s = s.plain
	}
	var ok bool
	switch s.kind {
	case kindObject:
		ok = r.object(n, s, v)
	case kindMap:
		ok = r.table(n, s, v)
	case kindList:
		ok = r.list(n, s, v)
	case kindEffects:
		ok = r.effects(n, s, v)
	case kindSchema:
		ok = r.schema(n, s, v)
	default:
		ok = r.scalar(n, s, v)
	}
	if !ok {
		return nil
	}
	return v
}

// enter follows an alias and counts what it stands for; it returns nil where n can't be read.
func (r *reader) enter(n *yaml.Node, path string) (*yaml.Node, func()) {
	alias := n.Kind == yaml.AliasNode
	if alias {
		r.aliased++
		n = n.Alias
	}
	leave := func() {
		if alias {
			r.aliased--
		}
	}
	if r.aliased > 0 && r.expanded <= MaxExpanded {
		if r.expanded++; r.expanded > MaxExpanded {
			r.report(r.at(n), path, "the aliases of this file stand for more than %d values: write the values out", MaxExpanded)
		}
	}
	if r.aliased > 0 && r.expanded > MaxExpanded || r.tagged(n, path) {
		leave()
		return nil, nil
	}
	return n, leave
}

// tagged reports a tag, which would change what a value means.
func (r *reader) tagged(n *yaml.Node, path string) bool {
	at := r.offset(n.Line, n.Column)
	if n.Style&yaml.TaggedStyle == 0 && (at >= len(r.data) || r.data[at] != '!') {
		return false
	}
	r.report(r.at(n), path, "tags are not read: remove %s", clip(tagText(n)))
	return true
}

func tagText(n *yaml.Node) string {
	if n.Style&yaml.TaggedStyle == 0 {
		return "!"
	}
	return n.Tag
}

// wrong reports that n is not what s describes.
func (r *reader) wrong(n *yaml.Node, s *shape, path string) bool {
	if isNull(n) {
		r.report(r.at(n), path, "null says nothing: write %s", s.says)
	} else {
		r.report(r.at(n), path, "must be %s, not %s", s.says, describe(n)+quotesHint(n, s))
	}
	return false
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return "text in quotes"
	case n.Tag == "!!null":
		return "null"
	case n.Tag == "!!bool":
		return "true or false"
	case n.Tag == "!!int", n.Tag == "!!float":
		return "a number"
	}
	return "text"
}

// quotesHint tells how to write text that YAML takes for something else.
func quotesHint(n *yaml.Node, s *shape) string {
	if s.kind == kindText && n.Kind == yaml.ScalarNode {
		return ": put it in quotes"
	}
	return ""
}

// list reads a list of values of one shape.
func (r *reader) list(n *yaml.Node, s *shape, v *value) bool {
	if n.Kind != yaml.SequenceNode {
		return r.wrong(n, s, v.path)
	}
	v.items = make([]*value, 0, len(n.Content))
	seen := map[string]bool{}
	for i, item := range n.Content {
		entry := r.read(item, s.elem, fmt.Sprintf("%s[%d]", v.path, i))
		if entry != nil && s.elem.kind == kindObject && entry.of != nil {
			r.require(entry, s.elem)
		}
		if s.unique && entry != nil {
			if seen[entry.text] {
				r.report(entry.at, entry.path, "%s stands twice: remove one", clip(entry.text))
			}
			seen[entry.text] = true
		}
		v.items = append(v.items, entry)
	}
	return true
}

// effects reads a list of effects and keeps where each stands.
func (r *reader) effects(n *yaml.Node, s *shape, v *value) bool {
	if n.Kind != yaml.SequenceNode {
		return r.wrong(n, s, v.path)
	}
	v.places = &effects.Positions{}
	before := len(r.problems)
	for i, item := range n.Content {
		e := r.read(item, s.elem, fmt.Sprintf("%s[%d]", v.path, i))
		if e == nil {
			continue
		}
		effect, err := effects.Parse(e.text)
		switch {
		case err != nil || !slices.Contains(s.enum, e.text):
			r.notAmong(e, s.enum)
		case v.set.Has(effect):
			r.report(e.at, e.path, "%s stands twice: remove one", e.text)
		default:
			v.set = v.set.Union(effects.NewSet(effect))
			v.places[effect] = e.at
		}
	}
	return len(r.problems) == before
}
