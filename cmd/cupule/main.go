// Command cupule checks, explains, calls and serves what a configuration file declares.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal ends the command in good order; a second one ends it at once.
	context.AfterFunc(ctx, stop)
	c := &cli{in: os.Stdin, out: os.Stdout, talk: os.Stderr, lookupEnv: os.LookupEnv, terminal: isTerminal(os.Stderr)}
	return c.exit(ctx, c.command().ExecuteContext(ctx))
}

// isTerminal reports whether a person is looking at f.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && info.Mode()&os.ModeDevice != 0 && os.Getenv("TERM") != "dumb" && os.Getenv("TERM") != ""
}
