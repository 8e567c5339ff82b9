package registry

import (
	"iter"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// findCycle returns where a schema applies itself to the same value again, or "". Such
// a schema would make a validator recurse for ever; a tree that refers to itself for
// its children is fine.
func findCycle(root *jsonschema.Schema) string {
	c := cycles{state: map[*jsonschema.Schema]int{}}
	for queue := []*jsonschema.Schema{root}; len(queue) > 0 && c.found == ""; {
		s := queue[0]
		queue = queue[1:]
		if c.queued[s] {
			continue
		}
		c.mark(s)
		c.visit(s)
		queue = slices.AppendSeq(queue, inPlace(s))
		queue = slices.AppendSeq(queue, deeper(s))
	}
	return c.found
}

type cycles struct {
	state  map[*jsonschema.Schema]int // 1 while on the path, 2 when done
	queued map[*jsonschema.Schema]bool
	found  string
}

func (c *cycles) mark(s *jsonschema.Schema) {
	if c.queued == nil {
		c.queued = map[*jsonschema.Schema]bool{}
	}
	c.queued[s] = true
}

// visit follows what is applied to the same value, depth first.
func (c *cycles) visit(s *jsonschema.Schema) {
	switch c.state[s] {
	case 1:
		c.found = "\"" + s.Location[min(len(schemaURL), len(s.Location)):] + "\""
		return
	case 2:
		return
	}
	c.state[s] = 1
	for next := range inPlace(s) {
		c.visit(next)
	}
	c.state[s] = 2
}

// inPlace returns the schemas that s applies to the same value.
func inPlace(s *jsonschema.Schema) iter.Seq[*jsonschema.Schema] {
	list := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else}
	if s.DynamicRef != nil {
		list = append(list, s.DynamicRef.Ref)
	}
	list = slices.Concat(list, s.AllOf, s.AnyOf, s.OneOf, slices.Collect(maps.Values(s.DependentSchemas)))
	for _, dependency := range s.Dependencies {
		list = append(list, anySchemas(dependency)...)
	}
	return present(list)
}

// deeper returns the schemas that s applies to parts of the value.
func deeper(s *jsonschema.Schema) iter.Seq[*jsonschema.Schema] {
	list := []*jsonschema.Schema{
		s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema,
	}
	list = slices.Concat(list, s.PrefixItems,
		slices.Collect(maps.Values(s.Properties)), slices.Collect(maps.Values(s.PatternProperties)),
		anySchemas(s.AdditionalProperties), anySchemas(s.Items), anySchemas(s.AdditionalItems))
	return present(list)
}

func anySchemas(v any) []*jsonschema.Schema {
	switch v := v.(type) {
	case *jsonschema.Schema:
		return []*jsonschema.Schema{v}
	case []*jsonschema.Schema:
		return v
	}
	return nil
}

func present(list []*jsonschema.Schema) iter.Seq[*jsonschema.Schema] {
	return func(yield func(*jsonschema.Schema) bool) {
		for _, s := range list {
			if s != nil && !yield(s) {
				return
			}
		}
	}
}
