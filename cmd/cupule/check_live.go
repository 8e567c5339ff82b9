package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/cupule/cupule"
	"github.com/spf13/cobra"
)

// checkLive asks each server which tools it has. A server that can't be asked is a
// finding, and keeps none of the others from being asked.
func (c *cli) checkLive(cmd *cobra.Command, app *cupule.App) ([]finding, error) {
	inv, err := c.authority(app.Config())
	if err != nil {
		return nil, err
	}
	var list []finding
	for _, alias := range slices.Sorted(maps.Keys(app.Config().MCP)) {
		health, err := app.Client().Check(cmd.Context(), alias, inv)
		if cmd.Context().Err() != nil {
			return list, err
		}
		if err != nil {
			server := app.Config().MCP[alias]
			list = append(list, finding{"problem", server.At.String(), "mcp." + alias, err.Error()})
			continue
		}
		fmt.Fprintf(c.talk, "%s: protocol %s, %d tools advertised, %d of them usable\n", alias, health.Protocol, health.Advertised, health.Usable)
		for _, f := range health.Findings {
			list = append(list, finding{"problem", f.At.String(), f.Subject.String(), fmt.Sprintf("%s: %s", f.Problem, f.Message)})
		}
	}
	return list, nil
}
