package main

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/mcpclient"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
)

// toolListing is a tool as tools prints it: what its operator declared beside what its
// server claims.
type toolListing struct {
	Name        string          `json:"name"`
	Effects     effects.Set     `json:"effects"`
	Timeout     float64         `json:"timeout"`
	MaxOutput   int64           `json:"max_output"`
	Claims      []string        `json:"claims"`
	Description string          `json:"description,omitempty"`
	At          string          `json:"at,omitempty"`
	Definition  json.RawMessage `json:"definition"`
}

func (c *cli) toolsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "tools SERVER",
		Short: "List the tools of a server that are configured, advertised now and authorized",
		Long: "tools starts or connects to a server and lists those of its tools that the configuration allows and that the\n" +
			"flags authorize. The server's own claims stand beside the declared effects; they decide nothing.",
		Args: words(1, 1), ValidArgsFunction: c.completes(servers),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withApp(cmd, func(s *setting) error {
				tools, err := s.app.Client().ListTools(cmd.Context(), args[0], s.invocation)
				if err != nil {
					return err
				}
				list := make([]toolListing, 0, len(tools))
				for _, t := range tools {
					list = append(list, describeTool(t))
				}
				return c.print(list, func(w io.Writer) { toolsTable(w, list) })
			})
		},
	}
}

func describeTool(t mcpclient.Tool) toolListing {
	return toolListing{
		Name: t.Name, Effects: t.Rule.Effects, Timeout: t.Rule.Timeout.Seconds(), MaxOutput: t.Rule.MaxOutput,
		Claims: claims(t.Claims), Description: t.Description, At: t.Rule.At.String(), Definition: t.Raw,
	}
}

// claims spells out annotations as the protocol names them.
func claims(a *mcp.ToolAnnotations) []string {
	list := []string{}
	if a == nil {
		return list
	}
	if a.ReadOnlyHint {
		list = append(list, "readOnlyHint")
	}
	if a.IdempotentHint {
		list = append(list, "idempotentHint")
	}
	if a.DestructiveHint != nil && *a.DestructiveHint {
		list = append(list, "destructiveHint")
	}
	if a.OpenWorldHint != nil && *a.OpenWorldHint {
		list = append(list, "openWorldHint")
	}
	return list
}

func toolsTable(w io.Writer, list []toolListing) {
	row(w, "TOOL", "EFFECTS", "TIMEOUT", "MAX OUTPUT", "SERVER CLAIMS", "DESCRIPTION")
	for _, t := range list {
		row(w, t.Name, t.Effects, seconds(t.Timeout), size(t.MaxOutput), dash(strings.Join(t.Claims, ", ")), firstLine(t.Description))
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
