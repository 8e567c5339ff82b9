package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
	"github.com/spf13/cobra"
)

// explanation is a decision as explain prints it.
type explanation struct {
	Operation string           `json:"operation"`
	Allowed   bool             `json:"allowed"`
	Subjects  []explainedThing `json:"subjects"`
}

type explainedThing struct {
	Kind    effects.Kind      `json:"kind"`
	Name    string            `json:"name"`
	Allowed bool              `json:"allowed"`
	At      string            `json:"at,omitempty"`
	Lines   []explainedEffect `json:"rules"`
}

// explainedEffect is what one rule says of a subject.
type explainedEffect struct {
	Effect  string `json:"effect,omitempty"`
	Rule    string `json:"rule"`
	Allowed bool   `json:"allowed"`
	Message string `json:"message"`
	At      string `json:"at,omitempty"`
}

func (c *cli) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain OPERATION",
		Short: "Print the decision on a call as a tree, without starting anything",
		Long: "explain prints what the effects engine decides on the operation, its tool and the transport to it,\n" +
			"for the authority that the flags give. It starts nothing. It exits 3 when the call would be denied.",
		Args: words(1, 1), ValidArgsFunction: c.completes(operations),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withApp(cmd, func(s *setting) error { return c.explain(s, args[0]) })
		},
	}
}

func (c *cli) explain(s *setting, operation string) error {
	judged, known := s.app.Registry().Explain(operation, s.invocation)
	if !known {
		return s.unknownOperation(operation)
	}
	e := explanation{Operation: operation, Allowed: s.app.Registry().Allows(operation, s.invocation)}
	for _, j := range judged {
		e.Subjects = append(e.Subjects, s.explained(operation, j))
	}
	if err := c.print(e, func(w io.Writer) { printTree(w, e) }); err != nil {
		return err
	}
	if !e.Allowed {
		return errTold(exitDenied)
	}
	return nil
}

func (s *setting) explained(operation string, j registry.Judgement) explainedThing {
	t := explainedThing{
		Kind: j.Subject.Kind, Name: j.Subject.Name, Allowed: j.Decision.Allowed,
		At: s.position(operation, j.Subject).String(), Lines: []explainedEffect{},
	}
	denied := map[effects.Effect]bool{}
	for _, r := range j.Decision.Reasons {
		denied[r.Effect] = true
		t.Lines = append(t.Lines, against(r))
	}
	for e := range j.Subject.Effects.All() {
		if !denied[e] {
			t.Lines = append(t.Lines, explainedEffect{
				Effect: e.String(), Rule: allowingRule(e), Allowed: true, Message: allowingMessage(e), At: j.Subject.Declared.Of(e).String(),
			})
		}
	}
	if len(t.Lines) == 0 {
		t.Lines = append(t.Lines, explainedEffect{Rule: "no_effects", Allowed: true, Message: noEffects(j.Subject.Kind)})
	}
	return t
}

func against(r effects.Reason) explainedEffect {
	line := explainedEffect{Rule: string(r.Rule), Message: r.String(), At: r.At.String()}
	if r.Effect != 0 {
		line.Effect = r.Effect.String()
	}
	return line
}

func allowingRule(e effects.Effect) string {
	if e == effects.NetworkRead {
		return "online"
	}
	return "authorized"
}

func allowingMessage(e effects.Effect) string {
	if e == effects.NetworkRead {
		return "the call is online"
	}
	return "the caller is authorized for it"
}

func noEffects(k effects.Kind) string {
	switch k {
	case effects.Stdio:
		return "a child process needs no network"
	case effects.StreamableHTTP:
		return "the call is online"
	}
	return "it declares no effects"
}

func printTree(w io.Writer, e explanation) {
	fmt.Fprintf(w, "%s: %s\n", e.Operation, verdict(e.Allowed))
	for i, t := range e.Subjects {
		branch, trunk := "├─ ", "│  "
		if i == len(e.Subjects)-1 {
			branch, trunk = "└─ ", "   "
		}
		fmt.Fprintf(w, "%s%s %s: %s%s\n", branch, t.Kind, printable(t.Name), verdict(t.Allowed), at(t.At))
		for k, line := range t.Lines {
			twig := "├─ "
			if k == len(t.Lines)-1 {
				twig = "└─ "
			}
			fmt.Fprintf(w, "%s%s%s: %s: %s%s\n", trunk, twig, strings.TrimSpace(line.Effect+" "+verdict(line.Allowed)), line.Rule, line.Message, at(line.At))
		}
	}
}
