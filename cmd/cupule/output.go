package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"gopkg.in/yaml.v3"
)

// print writes value as JSON or YAML, or calls table for a person.
func (c *cli) print(value any, table func(w io.Writer)) error {
	switch c.output {
	case "json":
		text, err := indented(value)
		if err != nil {
			return err
		}
		_, err = c.out.Write(text)
		return err
	case "yaml":
		text, err := asYAML(value)
		if err != nil {
			return err
		}
		_, err = c.out.Write(text)
		return err
	}
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	table(w)
	return w.Flush()
}

func indented(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(value)
	return b.Bytes(), err
}

// asYAML writes a value by its JSON form, so that both have the same keys in the same
// order and exact numbers. JSON is YAML, so the tree is read from it and laid out anew.
func asYAML(value any) ([]byte, error) {
	text, err := indented(value)
	if err != nil {
		return nil, err
	}
	var tree yaml.Node
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	layOut(&tree)
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(&tree); err != nil {
		return nil, err
	}
	return b.Bytes(), e.Close()
}

func layOut(n *yaml.Node) {
	n.Style &^= yaml.FlowStyle
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		n.Style = 0
	}
	for _, child := range n.Content {
		layOut(child)
	}
}

// printRaw writes a call's result: its own bytes, or the same value in YAML.
func (c *cli) printRaw(result json.RawMessage) error {
	if c.output == "yaml" {
		text, err := asYAML(result)
		if err != nil {
			return err
		}
		_, err = c.out.Write(text)
		return err
	}
	_, err := fmt.Fprintf(c.out, "%s\n", result)
	return err
}

func row(w io.Writer, cells ...any) {
	texts := make([]string, len(cells))
	for i, cell := range cells {
		texts[i] = printable(fmt.Sprint(cell))
	}
	fmt.Fprintln(w, strings.TrimRight(strings.Join(texts, "\t"), "\t"))
}

// printable keeps a peer's text from moving the cursor or the columns.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '\uFFFD'
		}
		return r
	}, text)
}
