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

// pairs calls visit for each key that is text and stands once.
func (r *reader) pairs(n *yaml.Node, path string, visit func(key string, k, v *yaml.Node)) {
	lines := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if !r.isKey(k, path) {
			continue
		}
		if line, twice := lines[k.Value]; twice {
			r.report(r.at(k), keyPath(path, k.Value), "this key stands twice, first in line %d: remove one", line)
			continue
		}
		lines[k.Value] = k.Line
		visit(k.Value, k, v)
	}
}

func (r *reader) isKey(k *yaml.Node, path string) bool {
	switch {
	case k.Kind == yaml.ScalarNode && k.Tag == "!!merge":
		r.report(r.at(k), path, "merge keys are not read: write the keys out")
	case k.Kind == yaml.AliasNode:
		r.report(r.at(k), path, "an alias can't be a key: write the key out")
	case k.Kind != yaml.ScalarNode:
		r.report(r.at(k), path, "a key must be text, not %s", describe(k))
	case r.tagged(k, path):
	case isNull(k):
		r.report(r.at(k), path, "a key is missing or null: write a key, or put %q in quotes", clip(k.Value))
	case !isText(k):
		r.report(r.at(k), path, "a key must be text: put %s in quotes", clip(k.Value))
	default:
		return true
	}
	return false
}

// object reads a mapping whose keys are fields.
func (r *reader) object(n *yaml.Node, s *shape, v *value) bool {
	if n.Kind != yaml.MappingNode {
		return r.wrong(n, s, v.path)
	}
	v.of = map[string]*value{}
	r.pairs(n, v.path, func(key string, k, child *yaml.Node) {
		f := s.field(key)
		if f == nil {
			r.unknown(k, s, v.path)
			return
		}
		r.child(v, key, k, r.read(child, f.shape, join(v.path, key)))
	})
	return true
}

func (r *reader) unknown(k *yaml.Node, s *shape, path string) {
	guess := r.suggest(k.Value, s.names)
	if guess == "" {
		guess = ": this is " + s.says
	}
	if literal(k.Value) {
		r.report(r.at(k), path, "this key looks like a secret, and is unknown%s", guess)
		return
	}
	r.report(r.at(k), join(path, k.Value), "unknown key%s", guess)
}

// child puts the value of one key in its place. A key whose value is wrong, and so nil, is
// known to stand there.
func (r *reader) child(v *value, key string, k *yaml.Node, child *value) {
	if child != nil {
		child.key = r.at(k)
	}
	v.keys = append(v.keys, key)
	v.of[key] = child
}

// require reports the fields that are missing; where is the place that should hold them.
func (r *reader) require(v *value, s *shape) {
	for _, f := range s.fields {
		if f.required && !v.has(f.name) {
			r.report(v.key, v.path, "%s is missing: write %s: and %s", f.name, f.name, f.shape.says)
		}
	}
}

// table reads a mapping whose keys are names.
func (r *reader) table(n *yaml.Node, s *shape, v *value) bool {
	if n.Kind != yaml.MappingNode {
		return r.wrong(n, s, v.path)
	}
	v.of = map[string]*value{}
	r.pairs(n, v.path, func(key string, k, child *yaml.Node) {
		path := join(v.path, key)
		if wrong := r.nameWrong(key, s); wrong != "" {
			r.report(r.at(k), v.path, "%s", wrong)
			path = v.path + "[?]"
		}
		r.child(v, key, k, r.read(child, s.elem, path))
		if s.elem.kind == kindObject {
			if entry := v.of[key]; entry != nil {
				r.require(entry, s.elem)
			}
		}
	})
	return true
}

func (r *reader) nameWrong(key string, s *shape) string {
	if literal(key) {
		return "this key looks like a secret: write a name"
	}
	if s.check == nil {
		return ""
	}
	if err := s.check(key); err != nil {
		return err.Error()
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

// keyPath is join for a key that may turn out to be a secret.
func keyPath(path, key string) string {
	if literal(key) || opaque(key, 20) {
		return path + "[?]"
	}
	return join(path, key)
}

// join appends a key to a path.
func join(path, key string) string {
	if path == "" {
		return quoteKey(key)
	}
	if quoted := quoteKey(key); quoted[0] == '"' {
		return path + "[" + quoted + "]"
	} else {
		return path + "." + quoted
	}
}

func quoteKey(key string) string {
	for _, c := range []byte(key) {
		if c != '_' && c != '-' && c != '.' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return fmt.Sprintf("%q", clip(key))
		}
	}
	if key == "" {
		return `""`
	}
	return clip(key)
}
