package main

import (
	"errors"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/cupule/cupule"
	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
	"github.com/spf13/cobra"
)

// cli is one run of the command line: its streams and its global flags.
type cli struct {
	in        io.Reader
	out       io.Writer // data
	talk      io.Writer // everything said to a person
	lookupEnv func(string) (string, bool)
	terminal  bool // a person is looking at talk

	file      string
	output    string
	offline   bool
	authorize []string
	caller    string
	timeout   float64
	timedOut  bool // --timeout was given
	maxOutput string
	verbose   bool
}

func (c *cli) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "cupule",
		Short: "Declare which MCP tools may be used, and serve operations over JSON-RPC",
		Long: "cupule checks, explains, calls and serves what a configuration file declares.\n\n" +
			"Exit codes: 0 done; 1 the tool or the handler reported an error; 2 usage, configuration,\n" +
			"unknown operation or invalid parameters; 3 denied or unauthenticated; 4 timeout, unavailable,\n" +
			"overloaded or shutting down; 5 any other failure; 130 cancelled or interrupted.\n\n" +
			"With -o json what went wrong is one line of JSON on standard error too: {\"error\": {\"code\", \"message\", \"data\"}},\n" +
			"for a failed call as JSON-RPC has it. Anything else has no code; its data.kind is usage, configuration (with\n" +
			"data.problems), tool_error, cancelled or internal.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.talk)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	c.flags(root)
	c.completeFlags(root)
	root.AddCommand(c.checkCommand(), c.explainCommand(), c.opsCommand(), c.invokeCommand(), c.serveCommand(),
		c.schemaCommand(), c.versionCommand(), c.mcpCommand())
	return root
}

func (c *cli) flags(root *cobra.Command) {
	file := "app.yaml"
	if name, set := c.lookupEnv("CUPULE_CONFIG"); set && name != "" {
		file = name
	}
	f := root.PersistentFlags()
	f.StringVarP(&c.file, "config", "c", file, "configuration file; the default is $CUPULE_CONFIG or app.yaml")
	f.StringVarP(&c.output, "output", "o", "table", "form of the output: table, json or yaml")
	f.BoolVar(&c.offline, "offline", false, "deny everything that reads from the network")
	f.StringSliceVar(&c.authorize, "authorize", nil, "effects to authorize: mutation, inference")
	f.StringVar(&c.caller, "caller", "", "act with the authority of this caller of the configuration")
	f.Float64Var(&c.timeout, "timeout", 0, "seconds that a call may take, if that is less than configured")
	f.StringVar(&c.maxOutput, "max-output", "", "size that a result may have, such as 64KB, if that is less than configured")
	f.BoolVarP(&c.verbose, "verbose", "v", false, "log calls on standard error")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		c.timedOut = cmd.Flags().Changed("timeout")
		return c.checkFlags()
	}
}

func (c *cli) checkFlags() error {
	switch c.output {
	case "table", "json", "yaml":
		return nil
	}
	return usagef("--output %s: write table, json or yaml", c.output)
}

// authority returns what the flags say that calls may do.
func (c *cli) authority(cfg *config.Config) (effects.Invocation, error) {
	a := effects.Authority{Origin: "cli"}
	if c.caller != "" {
		caller, known := cfg.Callers[c.caller]
		if !known {
			return effects.Invocation{}, usagef("--caller %s: the configuration declares no such caller", c.caller)
		}
		if len(c.authorize) > 0 {
			return effects.Invocation{}, usagef("--caller and --authorize exclude each other: the caller's authority is in the configuration")
		}
		a = caller.Authority("cli")
	}
	inv, err := c.limits(effects.NewInvocation(a))
	if err != nil || len(c.authorize) == 0 {
		return inv, err
	}
	held, err := effects.ParseSet(c.authorize...)
	if err != nil || !effects.NewSet(effects.Mutation, effects.Inference).Covers(held) {
		return effects.Invocation{}, usagef("--authorize %s: only mutation and inference can be authorized", strings.Join(c.authorize, ","))
	}
	a.Authorized = held
	return c.limits(effects.NewInvocation(a))
}

// limits narrows by --offline, --timeout and --max-output.
func (c *cli) limits(inv effects.Invocation) (effects.Invocation, error) {
	if c.offline {
		inv = inv.WithOffline()
	}
	if c.timedOut && !(seconds(c.timeout) > 0 && c.timeout <= config.MaxTimeout.Seconds()) {
		return inv, usagef("--timeout %v: write seconds, at least 0.000000001 and at most %v", c.timeout, config.MaxTimeout.Seconds())
	}
	inv = inv.WithTimeout(time.Duration(c.timeout * float64(time.Second)))
	if c.maxOutput == "" {
		return inv, nil
	}
	n, err := config.ParseSize(c.maxOutput)
	if err != nil {
		return inv, usagef("--max-output: %w", err)
	}
	return inv.WithMaxOutput(n), nil
}

// logger writes what concerns the operator to standard error, everything with --verbose.
func (c *cli) logger() *slog.Logger { return c.logAt(slog.LevelWarn) }

// observer logs calls: the service's own faults, and all of them with --verbose. A call
// that fails for another reason is told to who made it.
func (c *cli) observer() registry.Observer { return registry.LogObserver(c.logAt(slog.LevelError)) }

func (c *cli) logAt(level slog.Level) *slog.Logger {
	if c.verbose {
		level = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(c.talk, &slog.HandlerOptions{Level: level}))
}

// load reads the configuration file.
func (c *cli) load() (*config.Config, error) {
	cfg, err := config.Load(c.file)
	if _, listed := errors.AsType[*config.Error](err); err != nil && !listed {
		return nil, usageError{err}
	}
	return cfg, err
}

// open assembles the application, with stand-ins for operations whose handlers are
// written in Go, since this command has none.
func (c *cli) open(cmd *cobra.Command) (*cupule.App, error) {
	cfg, err := c.load()
	if err != nil {
		return nil, err
	}
	return cupule.OpenConfig(cmd.Context(), cfg, &cupule.Options{
		LookupEnv: c.lookupEnv, Logger: c.logger(), Observer: c.observer(), Handlers: standIns(cfg),
	})
}
