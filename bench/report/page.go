package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/cupule/cupule/bench/internal/measure"
)

//go:embed page.md.tmpl
var pageText string

// report is all that the page tells.
type report struct {
	Machine  facts
	Took     time.Duration
	Tables   []table
	Verdicts []verdict
}

const plotFile = "performance.svg"

// publish writes the page and its plot into a folder.
func (r report) publish(folder string) error {
	var page bytes.Buffer
	if err := r.print(&page); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "performance.md"), page.Bytes(), 0o644); err != nil {
		return err
	}
	return plotTables(r.Tables, filepath.Join(folder, plotFile))
}

func (r report) print(out io.Writer) error {
	functions := template.FuncMap{"table": markdown, "behind": behind, "mark": mark, "spread": spread}
	t, err := template.New("page").Funcs(functions).Parse(pageText)
	if err != nil {
		return err
	}
	return t.Execute(out, r)
}

// markdown draws a table.
func markdown(t table) string {
	var b strings.Builder
	heads := t.heads()
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(heads, " | "), " --- |"+strings.Repeat(" ---: |", len(heads)-1))
	for _, name := range t.names() {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(t.row(name), " | "))
	}
	return b.String()
}

func mark(v verdict) string {
	switch {
	case v.Holds:
		return "holds"
	case v.Checked:
		return "**does not hold**"
	}
	return "does not hold here"
}

// spread is the median distance between the quartiles of a contestant's samples, in percent
// of its median: how steady the machine was.
func spread(tables []table) string {
	var all []float64
	for _, t := range tables {
		for _, c := range t.Columns {
			for _, r := range c.Results {
				all = append(all, r.Spread())
			}
		}
	}
	slices.Sort(all)
	return fmt.Sprintf("%.0f%%", 100*measure.Middle(all))
}
