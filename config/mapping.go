package config

import (
	"fmt"

	"gopkg.in/yaml.v3"
)

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
