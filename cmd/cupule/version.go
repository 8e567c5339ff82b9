package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/cupule/cupule/config"
	"github.com/spf13/cobra"
)

func (c *cli) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: words(0, 0),
		RunE: func(*cobra.Command, []string) error {
			v := struct {
				Version string `json:"version"`
				Go      string `json:"go"`
				System  string `json:"system"`
			}{"(devel)", runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
				v.Version = info.Main.Version
			}
			return c.print(v, func(w io.Writer) { fmt.Fprintf(w, "cupule %s (%s, %s)\n", v.Version, v.Go, v.System) })
		},
	}
}

func (c *cli) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of the configuration file, for editors", Args: words(0, 0),
		RunE: func(*cobra.Command, []string) error {
			_, err := c.out.Write(config.Schema())
			return err
		},
	}
}
