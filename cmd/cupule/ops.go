package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
	"github.com/spf13/cobra"
)

// listing is an operation as ops prints it.
type listing struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Tool        string          `json:"tool,omitempty"`
	Effects     effects.Set     `json:"effects"`
	Timeout     float64         `json:"timeout"`
	MaxOutput   int64           `json:"max_output"`
	Allowed     bool            `json:"allowed"`
	Params      json.RawMessage `json:"params,omitempty"`
	Result      json.RawMessage `json:"result,omitempty"`
	At          string          `json:"at,omitempty"`
}

func (c *cli) opsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "ops", Short: "List the operations, and whether they may be called", Args: words(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withApp(cmd, func(s *setting) error {
				list := []listing{}
				for _, op := range s.app.Registry().Operations() {
					list = append(list, s.listing(op))
				}
				return c.print(list, func(w io.Writer) { opsTable(w, list) })
			})
		},
	}
}

func (s *setting) listing(op *registry.Operation) listing {
	timeout, output, _ := s.app.Registry().Limits(op.Name)
	l := listing{
		Name: op.Name, Description: op.Description, Effects: op.Effects, Timeout: timeout.Seconds, MaxOutput: output.Bytes,
		Allowed: s.app.Registry().Allows(op.Name, s.invocation), Params: op.Params, Result: op.Result, At: op.At.String(),
	}
	if op.Upstream != nil {
		l.Tool = op.Upstream.Server + "/" + op.Upstream.Tool
	}
	return l
}

func opsTable(w io.Writer, list []listing) {
	row(w, "OPERATION", "TOOL", "EFFECTS", "TIMEOUT", "MAX OUTPUT", "DECISION", "DESCRIPTION")
	for _, l := range list {
		row(w, l.Name, dash(l.Tool), l.Effects, seconds(l.Timeout), size(l.MaxOutput), verdict(l.Allowed), l.Description)
	}
}

func verdict(allowed bool) string {
	if allowed {
		return "allowed"
	}
	return "denied"
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// size writes a number of bytes exactly, with the largest unit that divides it.
func size(n int64) string {
	for _, unit := range []struct {
		name  string
		bytes int64
	}{{"MB", 1_000_000}, {"MiB", 1 << 20}, {"KB", 1000}, {"KiB", 1 << 10}} {
		if n >= unit.bytes && n%unit.bytes == 0 {
			return fmt.Sprintf("%d %s", n/unit.bytes, unit.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
