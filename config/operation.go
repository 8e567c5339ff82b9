package config

import (
	"maps"
	"strings"
)

func (b *builder) operations(root *value) {
	b.cfg.Operations = map[string]*Operation{}
	each(root.get("operations"), func(name string, v *value) {
		o := &Operation{
			Name: name, At: v.key, Description: v.get("description").string(),
			Effects: setOf(v), Declared: placesOf(v),
			Timeout: duration(v.get("timeout"), 0), MaxOutput: bytesOf(v.get("max_output"), 0),
		}
		if params := v.get("params"); params != nil {
			o.Params, o.ParamsAt = params.raw, params.key
		}
		if result := v.get("result"); result != nil {
			o.Result, o.ResultAt = result.raw, result.key
		}
		b.cfg.Operations[name] = o
		if tool := v.get("tool"); tool != nil {
			b.bind(o, v, tool, root.get("mcp"))
		} else if !v.has("tool") && !v.has("effects") {
			b.report(v.key, v.path, "effects is missing: write effects: and a list of effects, [] for none, or name a tool")
		}
	})
}

// bind makes an operation stand for a tool, whose effects it inherits.
func (b *builder) bind(o *Operation, v, tool, servers *value) {
	alias, name, ok := strings.Cut(tool.text, "/")
	if !ok || alias == "" || name == "" {
		b.report(tool.at, tool.path, "%q is no tool: write SERVER/TOOL, as in research-tools/resolve_identifier", clip(tool.text))
		return
	}
	o.Server, o.Tool = alias, name
	rule := b.lookUp(tool, servers, alias, name)
	switch {
	case rule == nil:
	case !v.has("effects"):
		o.Effects, o.Declared = rule.Effects, rule.Declared
	case v.get("effects") != nil && !o.Effects.Covers(rule.Effects):
		missing := rule.Effects.Minus(o.Effects)
		b.report(v.get("effects").at, v.get("effects").path, "the tool %s has the effects %s too (line %d): add them, or leave effects out to inherit the tool's",
			clip(tool.text), missing, rule.At.Line)
	}
}

// lookUp finds the tool among those allowed, or reports that it isn't there. A tool whose
// entry is wrong is reported there, not here.
func (b *builder) lookUp(tool, servers *value, alias, name string) *Rule {
	if !servers.has(alias) {
		b.report(tool.at, tool.path, "there is no server %q under mcp%s", clip(alias), b.suggest(alias, maps.Keys(b.cfg.MCP)))
		return nil
	}
	server, allowed := servers.get(alias), servers.get(alias).get("allowed")
	if server == nil || server.has("allowed") && allowed == nil {
		return nil
	}
	if !allowed.has(name) {
		known := b.cfg.MCP[alias].Allowed
		b.report(tool.at, tool.path, "server %s allows no tool %q%s", alias, clip(name), b.suggestOr(name, known))
		return nil
	}
	if allowed.get(name).get("effects") == nil {
		return nil
	}
	return b.cfg.MCP[alias].Allowed[name]
}

func (b *builder) suggestOr(name string, known map[string]*Rule) string {
	if guess := b.suggest(name, maps.Keys(known)); guess != "" {
		return guess
	}
	return ": declare it under allowed"
}
