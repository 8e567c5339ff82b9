package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
)

// Resource is a resource that is configured, advertised and authorized.
type Resource struct {
	URI string
	// Raw is its description byte for byte as the server sent it.
	Raw json.RawMessage
	// Rule is what its operator declared.
	Rule *config.Rule
}

// Typed decodes the description.
func (r *Resource) Typed() (*mcp.Resource, error) { return decode[mcp.Resource](r.Raw) }

// ResourceTemplate is a template of resources that is configured, advertised and authorized.
type ResourceTemplate struct {
	URITemplate string
	// Raw is its description byte for byte as the server sent it.
	Raw json.RawMessage
	// Rule is what its operator declared for the pattern that the template falls under.
	Rule *config.Rule
}

// Typed decodes the description.
func (t *ResourceTemplate) Typed() (*mcp.ResourceTemplate, error) {
	return decode[mcp.ResourceTemplate](t.Raw)
}

// ResourceResult is what a resource was read as.
type ResourceResult struct {
	// Raw is the result byte for byte as the server sent it.
	Raw json.RawMessage
}

// Typed decodes the result: texts and blobs.
func (r *ResourceResult) Typed() (*mcp.ReadResourceResult, error) {
	return decode[mcp.ReadResourceResult](r.Raw)
}

// decode says which member is of a wrong type: icons and _meta are not looked at before.
func decode[T any](raw json.RawMessage) (*T, error) {
	v := new(T)
	err := json.Unmarshal(raw, v)
	var ill *json.UnmarshalTypeError
	switch {
	case errors.As(err, &ill) && ill.Field != "":
		return nil, fmt.Errorf("what the server sent can't be read: its %s has %s where another type is due: %w", ill.Field, ill.Value, err)
	case err != nil:
		return nil, fmt.Errorf("what the server sent can't be read: %w", err)
	}
	return v, nil
}

// ListResources returns the resources of a server that are configured, advertised now and
// authorized by inv. The error, if any, is a *registry.Error.
func (c *Client) ListResources(ctx context.Context, server string, inv effects.Invocation) ([]Resource, error) {
	return c.listResources(ctx, server, inv, c.borrow)
}

// ListResourceTemplates is ListResources for templates. A template falls under a pattern that
// matches its own text.
func (c *Client) ListResourceTemplates(ctx context.Context, server string, inv effects.Invocation) ([]ResourceTemplate, error) {
	return c.listTemplates(ctx, server, inv, c.borrow)
}

// ReadResource reads a resource whose URI is configured, exactly or by a pattern: the one that
// says most about it counts. The error, if any, is a *registry.Error.
func (c *Client) ReadResource(ctx context.Context, server, uri string, inv effects.Invocation) (*ResourceResult, error) {
	return c.readResource(ctx, server, uri, inv, c.borrow)
}

func (c *Client) listResources(ctx context.Context, server string, inv effects.Invocation, from source) ([]Resource, error) {
	var list []Resource
	err := c.listEntries(ctx, effects.Resource, resourceList, server, inv, from, func(uri string, raw json.RawMessage, rule *config.Rule) {
		list = append(list, Resource{URI: uri, Raw: raw, Rule: rule})
	})
	return list, err
}

func (c *Client) listTemplates(ctx context.Context, server string, inv effects.Invocation, from source) ([]ResourceTemplate, error) {
	var list []ResourceTemplate
	err := c.listEntries(ctx, effects.Resource, templateList, server, inv, from, func(uri string, raw json.RawMessage, rule *config.Rule) {
		list = append(list, ResourceTemplate{URITemplate: uri, Raw: raw, Rule: rule})
	})
	return list, err
}

// listEntries reads a list and takes what is usable, configured and authorized.
func (c *Client) listEntries(ctx context.Context, kind effects.Kind, list listKind, server string, inv effects.Invocation, from source, take func(string, json.RawMessage, *config.Rule)) error {
	o := c.beginList(server, inv)
	rules, err := o.authorized(kind)
	if err != nil || len(rules) == 0 {
		return o.failed(err)
	}
	allowed := map[*config.Rule]bool{}
	for _, rule := range rules {
		allowed[rule] = true
	}
	found := newCatalog(list, true, func(name string) bool { return allowed[o.server.rule(kind, name)] })
	err = o.run(ctx, from, func(ctx context.Context, l *link) error { return l.list(ctx, found) })
	if err != nil {
		return o.failed(err)
	}
	for _, name := range found.names {
		if e := found.entries[name]; e.count == 1 && e.problem == "" {
			take(name, e.raw, o.server.rule(kind, name))
		}
	}
	return nil
}

func (c *Client) readResource(ctx context.Context, server, uri string, inv effects.Invocation, from source) (result *ResourceResult, err error) {
	o := c.begin(effects.Resource, server, uri, inv)
	defer func() { result, err = finish(ctx, o, result, err) }()
	raw, err := o.fetch(ctx, from, "resources/read", "contents", func(dst []byte) []byte {
		return appendText(append(dst, `"uri":`...), uri)
	})
	if err != nil {
		return nil, err
	}
	return &ResourceResult{Raw: raw}, nil
}

// fetch is the path of a call that reads a resource or gets a prompt. The result must have an
// array under member.
func (o *op) fetch(ctx context.Context, from source, method, member string, params func([]byte) []byte) (json.RawMessage, error) {
	if err := o.judge(); err != nil {
		return nil, err
	}
	limit := o.limit(nil)
	r := &request{method: method, params: params, limit: int(limit.Bytes), output: limit, name: o.name}
	var raw json.RawMessage
	err := o.run(ctx, from, func(ctx context.Context, l *link) (err error) {
		o.phase = phaseCall
		raw, err = l.do(ctx, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	o.event.ResultBytes = len(raw)
	return raw, checkArray(raw, member)
}

// checkArray refuses a result that has no array under member.
func checkArray(raw json.RawMessage, member string) error {
	if list := memberOf(raw, member); len(list) == 0 || list[0] != '[' {
		return failure(registry.KindUpstreamError, registry.Completed, "the server's result has no list of %s", member)
	}
	return nil
}
