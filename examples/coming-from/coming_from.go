// Package comingfrom holds the code of docs/coming-from.md, so that it is compiled.
package comingfrom

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/mcpclient"
	"github.com/cupule/cupule/registry"
)

// ClientAlone returns a client without registry and server.
func ClientAlone(file string) (*mcpclient.Client, error) {
	cfg, err := config.Load(file)
	if err != nil {
		return nil, err
	}
	return mcpclient.New(cfg, &mcpclient.Options{Name: "my-service", Version: "1.2.0"})
}

// OneCall lists tools and calls one.
func OneCall(ctx context.Context, client *mcpclient.Client) error {
	inv := effects.NewInvocation(effects.Authority{
		Principal:  "me",
		Authorized: effects.NewSet(effects.Inference),
	})
	tools, err := client.ListTools(ctx, "research-tools", inv)
	if err != nil {
		return err
	}
	result, err := client.CallTool(ctx, "research-tools", tools[0].Name, json.RawMessage(`{"identifier":"doi:10.1000/182"}`), inv)
	if err != nil {
		return err // a *registry.Error: Kind, Phase, Limit, Ran
	}
	typed, err := result.Typed()
	if err != nil {
		return err
	}
	fmt.Println(result.IsError, typed.Content)
	return nil
}

// Handler makes an operation of a tool.
func Handler(client *mcpclient.Client) registry.Operation {
	return client.Proxy(registry.Operation{Name: "identifier.resolve"}, "research-tools", "resolve_identifier")
}

// LongLived keeps a session for several calls.
func LongLived(ctx context.Context, client *mcpclient.Client, inv effects.Invocation) error {
	session, err := client.Connect(ctx, "research-tools", inv)
	if err != nil {
		return err
	}
	defer client.Disconnect("research-tools")
	fmt.Println(client.IsConnected("research-tools"), client.Connected(), session.ServerInfo(), session.Capabilities())
	result, err := session.Call(ctx, mcpclient.ToolCall{
		Tool: "slow", Args: json.RawMessage(`{"steps":3}`), Invocation: inv,
		Progress: func(p registry.Progress) { fmt.Println(p.Progress, p.Total, p.Message) },
	})
	if err != nil {
		return err
	}
	fmt.Println(string(result.Raw))
	return nil
}

// Notifications reads what a server tells by itself.
func Notifications(ctx context.Context, session *mcpclient.Session) {
	subscription := session.Subscribe()
	defer subscription.Close()
	for n := range subscription.All(ctx) {
		if token, p, ok := n.Progress(); ok {
			fmt.Println(string(token), p.Progress)
			continue
		}
		fmt.Println(n.Method, string(n.Params))
	}
	fmt.Println("dropped:", subscription.Dropped())
}

// ResourcesAndPrompts reads a resource and gets a prompt.
func ResourcesAndPrompts(ctx context.Context, client *mcpclient.Client, inv effects.Invocation) error {
	page, err := client.ReadResource(ctx, "library", "docs://readme", inv)
	if err != nil {
		return err
	}
	prompt, err := client.GetPrompt(ctx, "library", "summarise", map[string]string{"text": "..."}, inv)
	if err != nil {
		return err
	}
	fmt.Println(string(page.Raw), string(prompt.Raw))
	return nil
}

// Edit adds a server to a file and removes it.
func Edit(file string) error {
	server := &config.Server{Stdio: &config.Stdio{Command: "research-tools", Env: map[string]string{"HOME": "HOME"}}}
	if err := config.AddServer(file, "research-tools", server); err != nil {
		return err
	}
	return config.RemoveServer(file, "research-tools")
}
