package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/cupule/cupule"
	"github.com/spf13/cobra"
)

func (c *cli) serveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Serve the operations over JSON-RPC 2.0",
		Long: "serve serves the operations on every listener under serve.listen, or on standard input and output where there\n" +
			"is none. SIGTERM or an interrupt closes the listeners, finishes what runs within a grace, cancels the rest and exits 0;\n" +
			"a second one ends at once, by that signal. The end of standard input ends a server that listens on it, its other\n" +
			"listeners too. SIGHUP loads the file and certificates anew; one with a problem changes nothing.",
		Args: words(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.serve(cmd.Context()) },
	}
}

func (c *cli) serve(ctx context.Context) error {
	defer keepBrokenPipes()()
	if _, err := c.load(); err != nil {
		return err
	}
	app, err := cupule.Open(ctx, c.file, &cupule.Options{
		LookupEnv: c.lookupEnv, Logger: c.logger(), Observer: c.observer(), In: c.in, Out: c.out,
		Listening: func(addresses []string) {
			for _, address := range addresses {
				fmt.Fprintln(c.talk, "cupule: serving on", address)
			}
		},
	})
	if err != nil {
		return err
	}
	defer app.Close()
	hangup := make(chan os.Signal, 1)
	notifyHangup(hangup)
	defer signal.Stop(hangup)
	done := make(chan struct{})
	defer close(done)
	go c.reloadOn(hangup, done, app)
	return app.Serve(ctx)
}

// reloadOn loads the file anew at each signal, until done.
func (c *cli) reloadOn(hangup <-chan os.Signal, done <-chan struct{}, app *cupule.App) {
	for {
		select {
		case <-done:
			return
		case <-hangup:
		}
		if err := app.Reload(context.Background()); err != nil {
			fmt.Fprintf(c.talk, "cupule: the configuration is unchanged, since the new one has problems:\n%v\n", err)
			continue
		}
		fmt.Fprintln(c.talk, "cupule: configuration loaded anew")
	}
}
