// Command service embeds Cupule: it serves the operations that its configuration file
// declares, and two that are written in Go.
//
//	go build -o examples/bin/ ./examples/research-tools
//	DASHBOARD_TOKEN=... EDITOR_TOKEN=... AUDITOR_TOKEN=... go run ./examples/service examples/app.yaml
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/cupule/cupule"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := run(ctx, os.Args[1], logger); err != nil {
		logger.Error("service ended", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, file string, logger *slog.Logger) error {
	app, err := cupule.Open(ctx, file, &cupule.Options{Operations: operations, Logger: logger})
	if err != nil {
		return err
	}
	defer app.Close()
	return app.Serve(ctx)
}
