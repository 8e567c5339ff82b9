package main

import (
	"fmt"
	"io"
	"os"

	"github.com/cupule/cupule/config"
	"github.com/spf13/cobra"
)

func (c *cli) importCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE [SERVER...]",
		Short: "Add the servers that another tool keeps in JSON",
		Long: "import adds the servers of a file that other tools keep, all or those that are named: {\"mcpServers\": {...}},\n" +
			"VS Code's {\"servers\": {...}}, or {\"servers\": [...]}; - reads standard input. Values become names of variables,\n" +
			"which it tells you to set. None of the tools may be called until you allow them.",
		Args: words(1, -1),
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := c.readFile(args[0])
			if err != nil {
				return err
			}
			found, err := config.Import(data, &config.ImportOptions{Names: args[1:]})
			if err != nil {
				return usageError{err}
			}
			if err := config.AddServers(c.file, found.Servers); err != nil {
				return usageError{err}
			}
			c.tellImported(found)
			list := make([]serverListing, 0, len(found.Servers))
			for _, s := range found.Servers {
				list = append(list, describe(s))
			}
			return c.print(list, func(io.Writer) {})
		},
	}
}

// readFile reads a file or, for -, standard input.
func (c *cli) readFile(name string) ([]byte, error) {
	in := c.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, usageError{err}
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, config.MaxFile+1))
	if err != nil {
		return nil, usageError{err}
	}
	return data, nil
}

func (c *cli) tellImported(found *config.Imported) {
	for _, s := range found.Servers {
		fmt.Fprintf(c.talk, "%s: added server %s; allow its tools under mcp.%s.allowed\n", c.file, s.Alias, s.Alias)
	}
	for _, note := range found.Notes {
		fmt.Fprintln(c.talk, "note:", printable(note))
	}
	for _, v := range found.Variables {
		fmt.Fprintf(c.talk, "set %s: %s of server %s\n", v.Name, printable(v.Use), v.Server)
	}
}
