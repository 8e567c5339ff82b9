package main

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

func (c *cli) promptsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "prompts SERVER", Short: "List the prompts of a server that are configured, advertised now and authorized", Args: words(1, 1),
		ValidArgsFunction: c.completes(servers),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withApp(cmd, func(s *setting) error {
				list, err := prompts(cmd, s, args[0])
				if err != nil {
					return err
				}
				return c.print(list, func(w io.Writer) {
					row(w, "PROMPT", "ARGUMENTS", "EFFECTS", "DESCRIPTION")
					for _, e := range list {
						row(w, e.Name, dash(strings.Join(e.Arguments, ", ")), e.Effects, firstLine(e.Description))
					}
				})
			})
		},
	}
}

func prompts(cmd *cobra.Command, s *setting, server string) ([]entryListing, error) {
	found, err := s.app.Client().ListPrompts(cmd.Context(), server, s.invocation)
	if err != nil {
		return nil, err
	}
	list := []entryListing{}
	for _, p := range found {
		t, err := p.Typed()
		if err != nil {
			return nil, err
		}
		e := entryOf(p.Name, t.Description, p.Rule, p.Raw)
		for _, a := range t.Arguments {
			e.Arguments = append(e.Arguments, a.Name)
		}
		list = append(list, e)
	}
	return list, nil
}

func (c *cli) promptCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "prompt SERVER PROMPT [JSON]",
		Short: "Get a prompt and print it as the server sent it",
		Long:  "prompt gets a prompt with its arguments filled in. JSON is an object whose values are strings; - reads it from\nstandard input.",
		Args:  words(2, 3), ValidArgsFunction: c.completes(servers, allowed(allowedPrompts)),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := c.params(args[2:])
			if err != nil {
				return err
			}
			var arguments map[string]string
			if text != nil && json.Unmarshal(text, &arguments) != nil {
				return usagef("the arguments of a prompt are an object whose values are strings, such as '{\"text\":\"hello\"}'")
			}
			return c.withApp(cmd, func(s *setting) error {
				result, err := s.app.Client().GetPrompt(cmd.Context(), args[0], args[1], arguments, s.invocation)
				if err != nil {
					return err
				}
				return c.printRaw(result.Raw)
			})
		},
	}
}
