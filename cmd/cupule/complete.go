package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/cupule/cupule/config"
	"github.com/spf13/cobra"
)

// names returns what one word of a command may be, each with a description behind a tab
// where there is one. Before are the words that stand already.
type names func(cfg *config.Config, before []string) []string

// completes offers, word for word, what the configuration declares. It starts nothing, and
// a file that is missing or wrong offers nothing.
func (c *cli) completes(words ...names) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		cfg, err := config.Load(c.file)
		if err != nil || len(args) >= len(words) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var offered []string
		for _, name := range words[len(args)](cfg, args) {
			if strings.HasPrefix(name, begun) {
				offered = append(offered, name)
			}
		}
		return offered, cobra.ShellCompDirectiveNoFileComp
	}
}

func operations(cfg *config.Config, _ []string) []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(cfg.Operations)) {
		list = append(list, described(name, cfg.Operations[name].Description))
	}
	return list
}

func servers(cfg *config.Config, _ []string) []string {
	var list []string
	for _, alias := range slices.Sorted(maps.Keys(cfg.MCP)) {
		list = append(list, described(alias, describe(cfg.MCP[alias]).Target))
	}
	return list
}

func callers(cfg *config.Config, _ []string) []string { return slices.Sorted(maps.Keys(cfg.Callers)) }

// allowed returns names that may be reached on the server that stands before.
func allowed(of func(*config.Server) map[string]*config.Rule) names {
	return func(cfg *config.Config, before []string) []string {
		server := cfg.MCP[before[0]]
		if server == nil {
			return nil
		}
		var list []string
		for _, name := range slices.Sorted(maps.Keys(of(server))) {
			list = append(list, described(name, of(server)[name].Effects.String()))
		}
		return list
	}
}

func allowedTools(s *config.Server) map[string]*config.Rule     { return s.Allowed }
func allowedResources(s *config.Server) map[string]*config.Rule { return s.Resources }
func allowedPrompts(s *config.Server) map[string]*config.Rule   { return s.Prompts }

// described puts a description where shells look for it.
func described(name, description string) string {
	if description = printable(firstLine(description)); description != "" {
		return name + "\t" + description
	}
	return name
}

// completeFlags offers the values of global flags.
func (c *cli) completeFlags(root *cobra.Command) {
	for flag, offer := range map[string]cobra.CompletionFunc{
		"output":    cobra.FixedCompletions([]string{"table", "json", "yaml"}, cobra.ShellCompDirectiveNoFileComp),
		"authorize": cobra.FixedCompletions([]string{"mutation", "inference"}, cobra.ShellCompDirectiveNoFileComp),
		"caller": func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			return c.completes(callers)(cmd, nil, begun)
		},
	} {
		_ = root.RegisterFlagCompletionFunc(flag, offer) // fails for a flag that isn't there
	}
}
