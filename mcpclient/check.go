package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/internal/strictjson"
)

// Problem is what a look at a server found wrong with its configuration, or with itself.
type Problem string

// The problems that Check finds.
const (
	// Missing: configured, but not advertised.
	Missing Problem = "missing"
	// Ambiguous: advertised more than once.
	Ambiguous Problem = "ambiguous"
	// Malformed: its definition can't be read.
	Malformed Problem = "malformed"
	// Contradicted: the server's annotations say otherwise than the declared effects.
	Contradicted Problem = "contradicted"
)

// Finding is one problem with one tool or prompt.
type Finding struct {
	Problem Problem
	// Subject is what it is about.
	Subject effects.Subject
	// Message is one sentence for people.
	Message string
	// At is where it stands in the configuration.
	At effects.Position
}

// Health is what a look at a server found.
type Health struct {
	Server string
	// Protocol is the revision that was agreed on.
	Protocol string
	// Info is what the server says of itself, or nil.
	Info *mcp.Implementation
	// Capabilities are what the server says that it can do, or nil.
	Capabilities *mcp.ServerCapabilities
	// Advertised is how many tools the server has, and Usable how many of them are configured
	// and usable.
	Advertised, Usable int
	// Findings are ordered by kind and name.
	Findings []Finding
}

// Check starts or connects to a server, reads its catalog, and compares it with the
// configuration. It calls nothing. The error, if any, is a *registry.Error.
func (c *Client) Check(ctx context.Context, server string, inv effects.Invocation) (*Health, error) {
	o := c.beginList(server, inv)
	if err := o.judgeServer(); err != nil {
		return nil, o.failed(err)
	}
	h := &Health{Server: server}
	err := o.run(ctx, c.borrow, func(ctx context.Context, l *link) error { return h.look(ctx, l) })
	if err != nil {
		return nil, o.failed(err)
	}
	return h, nil
}

func (h *Health) look(ctx context.Context, l *link) error {
	h.Protocol, h.Info, h.Capabilities = l.agreed.version, l.agreed.info(), l.agreed.able()
	if len(l.server.Allowed) > 0 || len(l.server.Prompts) == 0 {
		found, err := l.readTools(ctx)
		if err != nil {
			return err
		}
		h.Advertised = found.total
		h.compare(effects.Tool, found, l.server.Allowed)
	}
	if len(l.server.Prompts) > 0 {
		found := newCatalog(promptList, false, func(name string) bool { return l.server.Prompts[name] != nil })
		if err := l.list(ctx, found); err != nil {
			return err
		}
		h.compare(effects.Prompt, found, l.server.Prompts)
	}
	return nil
}

func (h *Health) compare(kind effects.Kind, found *catalog, rules map[string]*config.Rule) {
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		rule := rules[name]
		f := Finding{
			Subject: effects.Subject{Kind: kind, Name: h.Server + "/" + name, Effects: rule.Effects, Declared: rule.Declared},
			At:      rule.At,
		}
		f.Problem, f.Message = judgeEntry(kind, found.entries[name], rule.Effects)
		if f.Problem != "" {
			h.Findings = append(h.Findings, f)
		}
		if kind == effects.Tool && (f.Problem == "" || f.Problem == Contradicted) {
			h.Usable++
		}
	}
}

func judgeEntry(kind effects.Kind, e *entry, declared effects.Set) (Problem, string) {
	switch {
	case e == nil:
		return Missing, fmt.Sprintf("the server advertises no %s of this name", kind)
	case e.count > 1:
		return Ambiguous, fmt.Sprintf("the server advertises %d %ss of this name, so it can't be called", e.count, kind)
	case e.problem != "":
		return Malformed, "the server's definition is malformed: " + e.problem
	case kind != effects.Tool:
		return "", ""
	}
	if text := contradiction(e.raw, declared); text != "" {
		return Contradicted, text
	}
	return "", ""
}

// contradiction says where a server's claims and the declared effects disagree about
// mutation. A hint that the server doesn't give contradicts nothing, whatever its default.
func contradiction(definition json.RawMessage, declared effects.Set) string {
	readOnly, said := hintOf(definition, "readOnlyHint")
	destructive, _ := hintOf(definition, "destructiveHint")
	switch mutation := declared.Has(effects.Mutation); {
	case readOnly && mutation:
		return "the server says readOnlyHint: true, and the configuration declares mutation"
	case readOnly || mutation:
		return ""
	case destructive:
		return "the server says destructiveHint: true, and the configuration declares no mutation"
	case said:
		return "the server says readOnlyHint: false, and the configuration declares no mutation"
	}
	return ""
}

// hintOf returns a hint of a tool's annotations, and whether it stands there.
func hintOf(definition json.RawMessage, name string) (value, said bool) {
	for m := range strictjson.Members(definition) {
		if string(m.Key) != "annotations" {
			continue
		}
		for hint := range strictjson.Members(m.Value) {
			if string(hint.Key) == name && strictjson.KindOf(hint.Value) == strictjson.Bool {
				return hint.Value[0] == 't', true
			}
		}
	}
	return false, false
}
