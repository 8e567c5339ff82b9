package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/cupule/cupule"
	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
	"github.com/spf13/cobra"
)

// finding is a line of check's output.
type finding struct {
	Severity string `json:"severity"` // "problem" or "warning"
	At       string `json:"at,omitempty"`
	Path     string `json:"path,omitempty"`
	Message  string `json:"message"`
}

func (f finding) String() string {
	text := f.Message
	if f.Path != "" {
		text = f.Path + ": " + text
	}
	if f.At != "" {
		text = f.At + ": " + text
	}
	if f.Severity == "warning" {
		return "warning: " + text
	}
	return text
}

func (c *cli) checkCommand() *cobra.Command {
	var live bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Report every problem of the configuration",
		Long: "check reports every problem of the configuration, and exits 2 if there is one. It starts nothing,\n" +
			"unless --live says to ask each server which tools it has and to compare them.",
		Args: words(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.check(cmd, live) },
	}
	cmd.Flags().BoolVar(&live, "live", false, "also start or connect to each server and compare its tools")
	return cmd
}

func (c *cli) check(cmd *cobra.Command, live bool) error {
	cfg, err := c.load()
	var list []finding
	if err == nil {
		for _, w := range cfg.Warnings(c.lookupEnv, nil) {
			list = append(list, fromConfig("warning", w))
		}
		list = append(list, unbound(cfg)...)
		list, err = c.checkApp(cmd, cfg, live, list)
	}
	problems, err := problemsOf(err)
	if err != nil {
		return err
	}
	list = append(problems, list...)
	if err := c.printFindings(cfg, list); err != nil {
		return err
	}
	if slices.ContainsFunc(list, func(f finding) bool { return f.Severity == "problem" }) {
		return errTold(exitUsage)
	}
	return nil
}

// checkApp assembles the application, which finds what only the registry can find.
func (c *cli) checkApp(cmd *cobra.Command, cfg *config.Config, live bool, list []finding) ([]finding, error) {
	app, err := cupule.OpenConfig(cmd.Context(), cfg, &cupule.Options{LookupEnv: c.lookupEnv, Logger: c.logger(), Observer: c.observer(), Handlers: standIns(cfg)})
	if err != nil {
		return list, err
	}
	if live {
		var found []finding
		found, err = c.checkLive(cmd, app)
		list = append(list, found...)
	}
	return list, errors.Join(err, app.Close())
}

func fromConfig(severity string, p config.Problem) finding {
	at := effects.Position{File: p.File, Line: p.Line, Column: p.Column}
	return finding{severity, at.String(), p.Path, p.Message}
}

// problemsOf turns the errors that list problems into findings, and passes on any other.
func problemsOf(err error) ([]finding, error) {
	var list []finding
	if broken, ok := errors.AsType[*config.Error](err); ok {
		for _, p := range broken.Problems {
			list = append(list, fromConfig("problem", p))
		}
		return list, nil
	}
	if unbuilt, ok := errors.AsType[*registry.BuildError](err); ok {
		for _, p := range unbuilt.Problems {
			path := "operations." + p.Operation
			if p.Key != "" {
				path += "." + p.Key
			}
			list = append(list, finding{"problem", p.At.String(), path, p.Message})
		}
		return list, nil
	}
	return nil, err
}

func (c *cli) printFindings(cfg *config.Config, list []finding) error {
	if list == nil {
		list = []finding{}
	}
	err := c.print(list, func(w io.Writer) {
		for _, f := range list {
			fmt.Fprintln(w, f)
		}
	})
	if err == nil && cfg != nil && c.output == "table" {
		tools := 0
		for _, s := range cfg.MCP {
			tools += len(s.Allowed)
		}
		fmt.Fprintf(c.talk, "%s: servers %d, tools %d, operations %d, callers %d\n", c.file, len(cfg.MCP), tools, len(cfg.Operations), len(cfg.Callers))
	}
	return err
}

// unbound warns of operations that only a Go program can serve.
func unbound(cfg *config.Config) []finding {
	var list []finding
	for _, name := range slices.Sorted(maps.Keys(standIns(cfg))) {
		list = append(list, finding{"warning", cfg.Operations[name].At.String(), "operations." + name,
			"it names no tool: only a Go program that binds a handler can serve it"})
	}
	return list
}
