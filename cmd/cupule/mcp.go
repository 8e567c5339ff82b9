package main

import (
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/mcpclient"
	"github.com/spf13/cobra"
)

func (c *cli) mcpCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "mcp", Short: "Look at, call and edit the MCP servers of the configuration", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.serversCommand(), c.toolsCommand(), c.callCommand(), c.addCommand(), c.removeCommand(), c.importCommand(),
		c.resourcesCommand(), c.readCommand(), c.promptsCommand(), c.promptCommand())
	return cmd
}

// serverListing is a server as servers prints it.
type serverListing struct {
	Alias     string   `json:"alias"`
	Transport string   `json:"transport"`
	Target    string   `json:"target"`
	Startup   float64  `json:"startup"`
	Protocol  string   `json:"protocol,omitempty"`
	Allowed   []string `json:"allowed"`
	Resources []string `json:"resources,omitempty"`
	Prompts   []string `json:"prompts,omitempty"`
	At        string   `json:"at,omitempty"`
}

func (c *cli) serversCommand() *cobra.Command {
	return &cobra.Command{
		Use: "servers", Short: "List the servers that the configuration declares", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := c.load()
			if err != nil {
				return err
			}
			list := []serverListing{}
			for _, alias := range slices.Sorted(maps.Keys(cfg.MCP)) {
				list = append(list, describe(cfg.MCP[alias]))
			}
			return c.print(list, func(w io.Writer) {
				row(w, "SERVER", "TRANSPORT", "TARGET", "ALLOWED TOOLS")
				for _, s := range list {
					row(w, s.Alias, s.Transport, s.Target, dash(strings.Join(s.Allowed, ", ")))
				}
			})
		},
	}
}

func describe(s *config.Server) serverListing {
	l := serverListing{
		Alias: s.Alias, Startup: s.Startup.Seconds(), Protocol: s.Protocol, At: s.At.String(),
		Allowed: slices.Sorted(maps.Keys(s.Allowed)), Resources: slices.Sorted(maps.Keys(s.Resources)), Prompts: slices.Sorted(maps.Keys(s.Prompts)),
	}
	if s.HTTP != nil {
		l.Transport, l.Target = "http", s.HTTP.URL
	} else {
		l.Transport, l.Target = "stdio", strings.Join(append([]string{s.Stdio.Command}, s.Stdio.Args...), " ")
	}
	if l.Allowed == nil {
		l.Allowed = []string{}
	}
	return l
}

func (c *cli) callCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "call SERVER TOOL [JSON]",
		Short: "Run one call of a tool and print its result",
		Long:  "call runs one call of a tool that the configuration allows and prints its result. JSON is the arguments,\nan object; - reads them from standard input.",
		Args:  words(2, 3), ValidArgsFunction: c.completes(servers, allowed(allowedTools)),
		RunE: func(cmd *cobra.Command, args []string) error {
			arguments, err := c.params(args[2:])
			if err != nil {
				return err
			}
			return c.withApp(cmd, func(s *setting) error {
				line := c.progressLine()
				call := mcpclient.ToolCall{Server: args[0], Tool: args[1], Args: arguments, Invocation: s.invocation}
				if c.terminal {
					call.Progress = line.show
				}
				result, err := s.app.Client().Call(cmd.Context(), call)
				line.clear()
				if err != nil {
					return err
				}
				if err := c.printRaw(result.Raw); err != nil {
					return err
				}
				if result.IsError {
					return errReported
				}
				return nil
			})
		},
	}
}
