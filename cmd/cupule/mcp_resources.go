package main

import (
	"encoding/json"
	"io"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/spf13/cobra"
)

// entryListing is a resource, a template or a prompt as its list prints it.
type entryListing struct {
	URI         string          `json:"uri,omitempty"`
	URITemplate string          `json:"uriTemplate,omitempty"`
	Name        string          `json:"name"`
	MIMEType    string          `json:"mimeType,omitempty"`
	Effects     effects.Set     `json:"effects"`
	Arguments   []string        `json:"arguments,omitempty"`
	Description string          `json:"description,omitempty"`
	At          string          `json:"at,omitempty"`
	Definition  json.RawMessage `json:"definition"`
}

func entryOf(name, description string, rule *config.Rule, raw json.RawMessage) entryListing {
	return entryListing{Name: name, Description: description, Effects: rule.Effects, At: rule.At.String(), Definition: raw}
}

func (c *cli) resourcesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "resources SERVER", Short: "List the resources and templates of a server that are configured, advertised now and authorized",
		Args: words(1, 1), ValidArgsFunction: c.completes(servers),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withApp(cmd, func(s *setting) error {
				list, err := resources(cmd, s, args[0])
				if err != nil {
					return err
				}
				return c.print(list, func(w io.Writer) {
					row(w, "RESOURCE", "NAME", "TYPE", "EFFECTS", "DESCRIPTION")
					for _, e := range list {
						row(w, e.URI+e.URITemplate, e.Name, dash(e.MIMEType), e.Effects, firstLine(e.Description))
					}
				})
			})
		},
	}
}

func resources(cmd *cobra.Command, s *setting, server string) ([]entryListing, error) {
	list := []entryListing{}
	found, err := s.app.Client().ListResources(cmd.Context(), server, s.invocation)
	if err != nil {
		return nil, err
	}
	for _, r := range found {
		t, err := r.Typed()
		if err != nil {
			return nil, err
		}
		e := entryOf(t.Name, t.Description, r.Rule, r.Raw)
		e.URI, e.MIMEType = r.URI, t.MIMEType
		list = append(list, e)
	}
	templates, err := s.app.Client().ListResourceTemplates(cmd.Context(), server, s.invocation)
	if err != nil {
		return nil, err
	}
	for _, r := range templates {
		t, err := r.Typed()
		if err != nil {
			return nil, err
		}
		e := entryOf(t.Name, t.Description, r.Rule, r.Raw)
		e.URITemplate, e.MIMEType = r.URITemplate, t.MIMEType
		list = append(list, e)
	}
	return list, nil
}

func (c *cli) readCommand() *cobra.Command {
	return &cobra.Command{
		Use: "read SERVER URI", Short: "Read a resource and print its contents as the server sent them", Args: words(2, 2),
		ValidArgsFunction: c.completes(servers, allowed(allowedResources)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withApp(cmd, func(s *setting) error {
				result, err := s.app.Client().ReadResource(cmd.Context(), args[0], args[1], s.invocation)
				if err != nil {
					return err
				}
				return c.printRaw(result.Raw)
			})
		},
	}
}
