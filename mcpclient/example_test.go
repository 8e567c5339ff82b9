package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/mcpclient"
	"github.com/cupule/cupule/mcpclient/mcptest"
	"github.com/cupule/cupule/registry"
)

// configured returns a configuration as config.Load reads it from a file like this:
//
//	mcp:
//	  library:
//	    stdio: {command: ...}
//	    allowed:
//	      echo: {effects: [network_read]}
func configured() *config.Config {
	command, args := mcptest.Good().Command()
	echo := &config.Rule{Name: "echo", Effects: effects.NewSet(effects.NetworkRead), Timeout: config.DefaultTimeout, MaxOutput: config.DefaultMaxOutput}
	return &config.Config{MCP: map[string]*config.Server{"library": {
		Alias: "library", Stdio: &config.Stdio{Command: command, Args: args}, Startup: config.DefaultStartup,
		Allowed: map[string]*config.Rule{"echo": echo},
	}}}
}

func Example() {
	client, err := mcpclient.New(configured(), nil) // starts nothing
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	caller := effects.NewInvocation(effects.Authority{Principal: "dashboard"})
	args := json.RawMessage(`{"n": 9007199254740993}`)

	result, err := client.CallTool(context.Background(), "library", "echo", args, caller)
	if err != nil {
		log.Fatal(err)
	}
	typed, err := result.Typed()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.IsError, len(typed.Content))

	_, err = client.CallTool(context.Background(), "library", "echo", args, caller.WithOffline())
	var e *registry.Error
	if errors.As(err, &e) {
		fmt.Println(e.Kind, e.Ran)
	}
	// Output:
	// false 1
	// denied not_sent
}

func ExampleClient_Connect() {
	client, err := mcpclient.New(configured(), &mcpclient.Options{Name: "my-service", Version: "1.2.0"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	session, err := client.Connect(context.Background(), "library", effects.Invocation{})
	if err != nil {
		log.Fatal(err)
	}
	notifications := session.Subscribe()
	defer notifications.Close()
	tools, err := session.ListTools(context.Background(), effects.Invocation{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(session.ServerInfo().Name, session.Protocol(), tools[0].Name, client.Connected())
	// Output: mcptest 2026-07-28 echo [library]
}
