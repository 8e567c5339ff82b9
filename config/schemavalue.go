package config

import (
	"bytes"
	"encoding/json"
	"regexp"

	"gopkg.in/yaml.v3"
)

// maxDepth bounds how deep the values of a schema may nest.
const maxDepth = 64

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// schema writes a JSON Schema as JSON: keys keep their order and numbers their digits.
func (r *reader) schema(n *yaml.Node, s *shape, v *value) bool {
	if n.Kind != yaml.MappingNode && (n.Kind != yaml.ScalarNode || n.Tag != "!!bool") {
		return r.wrong(n, s, v.path)
	}
	before := len(r.problems)
	var out bytes.Buffer
	r.json(&out, n, v.path, 1)
	v.raw = out.Bytes()
	return len(r.problems) == before && (r.aliased == 0 || r.expanded <= MaxExpanded)
}

// json writes the node, which may hold whatever JSON can.
func (r *reader) json(out *bytes.Buffer, n *yaml.Node, path string, depth int) {
	n, leave := r.enter(n, path)
	if n == nil {
		return
	}
	defer leave()
	switch {
	case depth > maxDepth:
		r.report(r.at(n), path, "is nested more than %d deep", maxDepth)
	case n.Kind == yaml.MappingNode:
		r.jsonObject(out, n, path, depth)
	case n.Kind == yaml.SequenceNode:
		out.WriteByte('[')
		for i, item := range n.Content {
			comma(out, i)
			r.json(out, item, path, depth+1)
		}
		out.WriteByte(']')
	default:
		r.jsonScalar(out, n, path)
	}
}

func (r *reader) jsonObject(out *bytes.Buffer, n *yaml.Node, path string, depth int) {
	out.WriteByte('{')
	count := 0
	r.pairs(n, path, func(key string, k, v *yaml.Node) {
		comma(out, count)
		count++
		writeString(out, key)
		out.WriteByte(':')
		r.json(out, v, path, depth+1)
	})
	out.WriteByte('}')
}

func (r *reader) jsonScalar(out *bytes.Buffer, n *yaml.Node, path string) {
	switch {
	case isText(n) && literal(n.Value):
		r.report(r.at(n), path, "this looks like a secret: no secret may stand in a schema")
	case isText(n):
		writeString(out, n.Value)
	case n.Tag == "!!null":
		out.WriteString("null")
	case n.Tag == "!!bool":
		out.WriteString(map[bool]string{true: "true", false: "false"}[n.Value[0] == 't' || n.Value[0] == 'T'])
	case jsonNumber.MatchString(n.Value):
		out.WriteString(n.Value)
	default:
		r.report(r.at(n), path, "%s is no number that JSON has: write it in decimal digits", clip(n.Value))
	}
}

func comma(out *bytes.Buffer, i int) {
	if i > 0 {
		out.WriteByte(',')
	}
}

func writeString(out *bytes.Buffer, text string) {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string can't fail
	out.Truncate(out.Len() - 1)
}
