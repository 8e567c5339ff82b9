package config

import (
	"bytes"
	"encoding/json"
	"time"
)

// node is a JSON Schema.
type node struct {
	Schema               string              `json:"$schema,omitempty"`
	Title                string              `json:"title,omitempty"`
	Ref                  string              `json:"$ref,omitempty"`
	Description          string              `json:"description,omitempty"`
	Type                 any                 `json:"type,omitempty"`
	Enum                 []string            `json:"enum,omitempty"`
	MinLength            int                 `json:"minLength,omitempty"`
	Pattern              string              `json:"pattern,omitempty"`
	Minimum              int64               `json:"minimum,omitempty"`
	ExclusiveMinimum     *int64              `json:"exclusiveMinimum,omitempty"`
	Maximum              int64               `json:"maximum,omitempty"`
	Items                *node               `json:"items,omitempty"`
	UniqueItems          bool                `json:"uniqueItems,omitempty"`
	PropertyNames        *node               `json:"propertyNames,omitempty"`
	Properties           map[string]*node    `json:"properties,omitempty"`
	Required             []string            `json:"required,omitempty"`
	AdditionalProperties any                 `json:"additionalProperties,omitempty"`
	DependentRequired    map[string][]string `json:"dependentRequired,omitempty"`
	Not                  *node               `json:"not,omitempty"`
	AnyOf                []*node             `json:"anyOf,omitempty"`
	OneOf                []*node             `json:"oneOf,omitempty"`
	Defs                 map[string]*node    `json:"$defs,omitempty"`
}

const secretRef = "#/$defs/secret"

// Schema returns the JSON Schema (2020-12) of the file, for editors. What it accepts may
// still be refused by Parse, which also knows what no schema can say.
func Schema() []byte {
	root := file.schema()
	root.Schema = "https://json-schema.org/draft/2020-12/schema"
	root.Title = "Cupule configuration"
	root.Defs = map[string]*node{"secret": {Pattern: issued.String(), Description: "What looks like a token."}}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(root) // plain values can't fail
	return out.Bytes()
}

// schema returns the JSON Schema of the values that s describes.
func (s *shape) schema() *node {
	n := s.bare()
	if s.plain == nil {
		return n
	}
	return &node{AnyOf: []*node{s.plain.schema(), n}}
}

func (s *shape) bare() *node {
	switch s.kind {
	case kindFlag:
		return &node{Type: "boolean"}
	case kindCount:
		return &node{Type: "integer", Minimum: s.min, Maximum: s.max}
	case kindSeconds:
		return &node{Type: "number", ExclusiveMinimum: new(int64), Maximum: s.max / int64(time.Second)}
	case kindEffects:
		return &node{Type: "array", Items: &node{Enum: s.enum}, UniqueItems: true}
	case kindSchema:
		return &node{Type: []string{"object", "boolean"}}
	case kindList:
		return &node{Type: "array", Items: s.elem.schema(), UniqueItems: s.unique}
	case kindMap:
		return &node{Type: "object", PropertyNames: s.keyNode(), AdditionalProperties: s.elem.schema()}
	case kindObject:
		return s.objectNode()
	}
	return s.textNode()
}

func (s *shape) textNode() *node {
	n := &node{Type: "string", Enum: s.enum, Pattern: s.pattern}
	if s.enum == nil {
		n.Not = &node{Ref: secretRef}
	}
	if !s.empty && s.enum == nil && s.pattern == "" {
		n.MinLength = 1
	}
	return n
}

func (s *shape) keyNode() *node {
	if s.pattern != "" {
		return &node{Pattern: s.pattern}
	}
	return &node{MinLength: 1}
}

func (s *shape) objectNode() *node {
	n := &node{Type: "object", Properties: map[string]*node{}, AdditionalProperties: false, DependentRequired: s.needs}
	for _, f := range s.fields {
		child := f.shape.schema()
		child.Description = f.doc
		if f.otherwise != "" {
			child.Description += " Without it: " + f.otherwise + "."
		}
		n.Properties[f.name] = child
		if f.required {
			n.Required = append(n.Required, f.name)
		}
	}
	for _, key := range s.oneOf {
		n.OneOf = append(n.OneOf, &node{Required: []string{key}})
	}
	for _, key := range s.anyOf {
		n.AnyOf = append(n.AnyOf, &node{Required: []string{key}})
	}
	return n
}
