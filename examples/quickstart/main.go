// Command quickstart shows the main job of Cupule end to end: it builds a small MCP
// server, checks a configuration that declares its tools, serves operations on a unix
// socket, and calls them over JSON-RPC as callers with different authority.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/cupule/cupule"
	"github.com/cupule/cupule/config"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// tokens stand in for the environment of a real service.
var tokens = map[string]string{"DASHBOARD_TOKEN": "quickstart-dashboard", "EDITOR_TOKEN": "quickstart-editor", "AUDITOR_TOKEN": "quickstart-auditor"}

func lookupEnv(name string) (string, bool) {
	if token, ok := tokens[name]; ok {
		return token, true
	}
	return os.LookupEnv(name)
}

func run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "cupule")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file, err := prepare(ctx, dir)
	if err != nil {
		return err
	}
	if err := check(file); err != nil {
		return err
	}
	ready := make(chan struct{})
	app, err := cupule.Open(ctx, file, &cupule.Options{LookupEnv: lookupEnv, Listening: func(addresses []string) {
		for _, address := range addresses {
			say("%s", strings.Replace(address, dir, "...", 1))
		}
		close(ready)
	}})
	if err != nil {
		return err
	}
	defer app.Close()
	list(app)
	return serve(ctx, app, ready, func() error { return calls(ctx, dir) })
}

// prepare builds the MCP server beside a copy of the configuration.
func prepare(ctx context.Context, dir string) (string, error) {
	step("build the MCP server examples/research-tools, beside a copy of examples/app.yaml")
	build := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(dir, "bin", "research-tools"), "./examples/research-tools")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("build it from the root of the repository: %w", err)
	}
	text, err := os.ReadFile("examples/app.yaml")
	if err != nil {
		return "", err
	}
	// Any free port will do here.
	text = bytes.Replace(text, []byte("127.0.0.1:8321"), []byte("127.0.0.1:0"), 1)
	file := filepath.Join(dir, "app.yaml")
	return file, os.WriteFile(file, text, 0o600)
}

func check(file string) error {
	step("check the configuration")
	cfg, err := config.Load(file)
	if err != nil {
		return err
	}
	for _, warning := range cfg.Warnings(lookupEnv, nil) {
		say("warning: %s", warning)
	}
	say("%d server, %d tools allowed, %d operations, %d callers", len(cfg.MCP), len(cfg.MCP["research-tools"].Allowed), len(cfg.Operations), len(cfg.Callers))
	return nil
}

func list(app *cupule.App) {
	step("list the operations")
	for _, op := range app.Registry().Operations() {
		say("%-20s effects: %-14s %s", op.Name, op.Effects, op.Description)
	}
}

// serve serves the application for as long as use takes.
func serve(ctx context.Context, app *cupule.App, ready <-chan struct{}, use func() error) error {
	step("serve them on a unix socket and over HTTP")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- app.Serve(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ready:
	}
	err := use()
	cancel()
	if served := <-ended; err == nil {
		err = served
	}
	step("stop: connections are closed, and every child process is gone")
	return err
}

var steps int

func step(text string) {
	steps++
	fmt.Printf("\n%d. %s\n", steps, text)
}

func say(format string, args ...any) { fmt.Printf("   "+format+"\n", args...) }
