package config

import (
	"fmt"

	"gopkg.in/yaml.v3"
)

// tied returns an error with every place outside of a server, which stands at a key of mcp, that
// uses an anchor inside of it: without the server those would say nothing, or something else.
func (p *page) tied(key, server *yaml.Node) error {
	inside := map[*yaml.Node]bool{}
	for _, n := range []*yaml.Node{key, server} {
		visit(n, func(n *yaml.Node) { inside[n] = true })
	}
	var problems []Problem
	visit(p.root, func(n *yaml.Node) {
		if n.Kind != yaml.AliasNode || inside[n] || !inside[n.Alias] {
			return
		}
		at := p.position(n.Line, n.Column)
		problems = append(problems, p.problem(at.Line, at.Column, fmt.Sprintf(
			"*%s uses the anchor &%[1]s of server %s (line %d), which would go with it: write its value out here first", clip(n.Value), clip(key.Value), n.Alias.Line))...)
	})
	if problems == nil {
		return nil
	}
	return &Error{Problems: sorted(problems)}
}

// visit calls do for a node and all that stands in it, in the order of the file. It follows no alias.
func visit(n *yaml.Node, do func(*yaml.Node)) {
	do(n)
	for _, child := range n.Content {
		visit(child, do)
	}
}
