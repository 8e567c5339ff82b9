package mcpclient

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
)

// Tool is a tool that is configured, advertised and authorized.
type Tool struct {
	Name string
	// Raw is its definition byte for byte as the server sent it.
	Raw json.RawMessage
	// Rule is what its operator declared: effects and limits.
	Rule *config.Rule
	// Claims are the server's own annotations, or nil. They decide nothing.
	Claims *mcp.ToolAnnotations
	// Description is the server's.
	Description string
}

// Typed decodes the definition. Where its icons or _meta are of a wrong type it returns an error; the tool
// can be called all the same.
func (t *Tool) Typed() (*mcp.Tool, error) { return decode[mcp.Tool](t.Raw) }

// ListTools returns the tools of a server that are configured, advertised by it now, and
// authorized by inv, in the order in which the server has them. Where inv authorizes none that
// is configured, the server isn't asked. The error, if any, is a *registry.Error.
func (c *Client) ListTools(ctx context.Context, server string, inv effects.Invocation) ([]Tool, error) {
	return c.listTools(ctx, server, inv, c.borrow)
}

func (c *Client) listTools(ctx context.Context, server string, inv effects.Invocation, from source) ([]Tool, error) {
	o := c.beginList(server, inv)
	allowed, err := o.authorized(effects.Tool)
	if err != nil || len(allowed) == 0 {
		return nil, o.failed(err)
	}
	var tools []Tool
	err = o.run(ctx, from, func(ctx context.Context, l *link) error {
		found, err := l.readTools(ctx)
		if err != nil {
			return err
		}
		tools = choose(found, allowed)
		return nil
	})
	return tools, o.failed(err)
}

// choose returns the usable tools of a catalog that are allowed.
func choose(found *catalog, allowed map[string]*config.Rule) []Tool {
	var tools []Tool
	for _, name := range found.names {
		rule := allowed[name]
		if rule == nil {
			continue
		}
		e, missing := found.tool(name)
		if missing != nil {
			continue
		}
		t := Tool{Name: name, Raw: e.raw, Rule: rule}
		t.Description, _ = text(memberOf(e.raw, "description"))
		if claims := memberOf(e.raw, "annotations"); claims != nil {
			_ = json.Unmarshal(claims, &t.Claims)
		}
		tools = append(tools, t)
	}
	return tools
}

// listTimeout bounds a list.
const listTimeout = config.DefaultTimeout

// beginList begins a call that reads a list, or looks at a server as a whole.
func (c *Client) beginList(alias string, inv effects.Invocation) *op {
	o := &op{client: c, server: c.servers[alias], alias: alias, inv: inv}
	o.rule = &config.Rule{Timeout: listTimeout}
	if o.server != nil {
		// A server may take its startup to come up, and the list comes on top.
		o.rule.Timeout += o.server.Startup
		o.subject = o.server.subject()
	}
	return o
}

// judgeServer decides on the server itself.
func (o *op) judgeServer() error {
	if o.server == nil {
		return failure(registry.KindMethodNotFound, registry.NotSent, "no server %.80q is configured", o.alias)
	}
	return decide(o.inv, o.server.subject())
}

// authorized returns what is configured under a kind and allowed on behalf of the invocation.
func (o *op) authorized(kind effects.Kind) (map[string]*config.Rule, error) {
	if err := o.judgeServer(); err != nil {
		return nil, err
	}
	allowed := map[string]*config.Rule{}
	for name, rule := range o.server.configured(kind) {
		s := effects.Subject{Kind: kind, Name: o.alias + "/" + name, Effects: rule.Effects, Declared: rule.Declared}
		if effects.Decide(s, o.inv).Allowed {
			allowed[name] = rule
		}
	}
	return allowed, nil
}

// failed completes the error of a list. A list runs nothing.
func (o *op) failed(err error) error {
	if err == nil {
		return nil
	}
	return o.complete(asError(err))
}

func (s *server) configured(kind effects.Kind) map[string]*config.Rule {
	switch kind {
	case effects.Tool:
		return s.Allowed
	case effects.Resource:
		return s.Resources
	default:
		return s.Prompts
	}
}
