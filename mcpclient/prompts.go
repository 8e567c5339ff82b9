package mcpclient

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
)

// Prompt is a prompt that is configured, advertised and authorized.
type Prompt struct {
	Name string
	// Raw is its description byte for byte as the server sent it.
	Raw json.RawMessage
	// Rule is what its operator declared.
	Rule *config.Rule
}

// Typed decodes the description.
func (p *Prompt) Typed() (*mcp.Prompt, error) { return decode[mcp.Prompt](p.Raw) }

// PromptResult is what a prompt came to.
type PromptResult struct {
	// Raw is the result byte for byte as the server sent it.
	Raw json.RawMessage
}

// Typed decodes the result: messages of text, images, audio and resources.
func (r *PromptResult) Typed() (*mcp.GetPromptResult, error) {
	return decode[mcp.GetPromptResult](r.Raw)
}

// ListPrompts returns the prompts of a server that are configured, advertised now and
// authorized by inv. The error, if any, is a *registry.Error.
func (c *Client) ListPrompts(ctx context.Context, server string, inv effects.Invocation) ([]Prompt, error) {
	return c.listPrompts(ctx, server, inv, c.borrow)
}

// GetPrompt gets a prompt with its arguments filled in. The error, if any, is a *registry.Error.
func (c *Client) GetPrompt(ctx context.Context, server, prompt string, args map[string]string, inv effects.Invocation) (*PromptResult, error) {
	return c.getPrompt(ctx, server, prompt, args, inv, c.borrow)
}

func (c *Client) listPrompts(ctx context.Context, server string, inv effects.Invocation, from source) ([]Prompt, error) {
	var list []Prompt
	err := c.listEntries(ctx, effects.Prompt, promptList, server, inv, from, func(name string, raw json.RawMessage, rule *config.Rule) {
		list = append(list, Prompt{Name: name, Raw: raw, Rule: rule})
	})
	return list, err
}

func (c *Client) getPrompt(ctx context.Context, server, prompt string, args map[string]string, inv effects.Invocation, from source) (result *PromptResult, err error) {
	o := c.begin(effects.Prompt, server, prompt, inv)
	defer func() { result, err = finish(ctx, o, result, err) }()
	if args == nil {
		args = map[string]string{}
	}
	values, err := json.Marshal(args)
	if err != nil {
		return nil, because(failure(registry.KindInvalidParams, registry.NotSent, "the arguments are invalid"), err)
	}
	o.event.ParamsBytes = len(values)
	raw, err := o.fetch(ctx, from, "prompts/get", "messages", func(dst []byte) []byte {
		dst = appendText(append(dst, `"name":`...), prompt)
		return append(append(dst, `,"arguments":`...), values...)
	})
	if err != nil {
		return nil, err
	}
	return &PromptResult{Raw: raw}, nil
}
