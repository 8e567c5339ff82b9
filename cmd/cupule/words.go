package main

import "github.com/spf13/cobra"

// words holds a command to between least and most arguments; most below 0 sets no bound.
func words(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usagef("%s: a word is missing; write %s", cmd.CommandPath(), cmd.UseLine())
		case most >= 0 && len(args) > most:
			return usagef("%s: %q is one word too many; write %s", cmd.CommandPath(), args[most], cmd.UseLine())
		}
		return nil
	}
}
