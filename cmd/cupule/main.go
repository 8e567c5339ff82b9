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
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
			// The first signal ends the command in good order. A second one ends it at once, from
			// before anything shows that the first has come.
			signal.Stop(signals)
			cancel()
		case <-ctx.Done():
		}
	}()
	c := &cli{in: os.Stdin, out: os.Stdout, talk: os.Stderr, lookupEnv: os.LookupEnv, terminal: isTerminal(os.Stderr)}
	return c.exit(ctx, c.command().ExecuteContext(ctx))
}

// isTerminal reports whether a person is looking at f.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && info.Mode()&os.ModeDevice != 0 && os.Getenv("TERM") != "dumb" && os.Getenv("TERM") != ""
}
