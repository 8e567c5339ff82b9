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
	settings
	Machine  facts
	Took     time.Duration
	Tables   []table
	Verdicts []verdict
	Unseen   []string // bars that weren't looked at
	Plotted  bool     // the plot lies beside the page
}

// Command is what was run.
func (r report) Command() string { return r.command() }

// Scope says what the page leaves out; empty for nothing.
func (r report) Scope() string { return r.scope() }

const plotFile = "performance.svg"

// publish writes the page and its plot into a folder.
func (r report) publish(folder string) error {
	var err error
	if r.Plotted, err = plotTables(r.Tables, filepath.Join(folder, plotFile)); err != nil {
		return err
	}
	var page bytes.Buffer
	if err := r.print(&page); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "performance.md"), page.Bytes(), 0o644)
}

func (r report) print(out io.Writer) error {
	functions := template.FuncMap{
		"table": markdown, "glance": glance, "summary": summary, "slower": slower, "hungrier": hungrier, "explained": explained, "unexplained": unexplained, "mark": mark, "spread": spread,
		"groups": groupNames, "join": strings.Join, "tick": tick, "notKnown": func() string { return notKnown },
		"profiled": func() string { return profiled },
		"again":    among(again), "beyond": among(beyond), "ranged": among(ranged),
	}
	t, err := template.New("page").Funcs(functions).Parse(pageText)
	if err != nil {
		return err
	}
	return t.Execute(out, r)
}

// tick marks code.
func tick(text string) string { return "`" + text + "`" }

func mark(v verdict) string {
	text := "does not hold here"
	switch {
	case v.Holds:
		text = "holds"
	case v.Checked:
		text = "does not hold"
	}
	if v.Noise {
		text += withinNoise
	}
	if v.Again {
		text += ", measured again"
	}
	if v.Checked && !v.Holds {
		return "**" + text + "**"
	}
	return text
}

func ranged(v verdict) bool { return v.Range != "" }

func again(v verdict) bool { return v.Again }

func beyond(v verdict) bool { return v.Beyond }

// among reports whether one of some verdicts is like that.
func among(is func(verdict) bool) func([]verdict) bool {
	return func(list []verdict) bool { return slices.ContainsFunc(list, is) }
}

// spread is the median distance between the quartiles of a contestant's samples, in percent
// of its median: how steady the machine was. It is empty where samples are too few to tell.
func spread(tables []table) string {
	var all []float64
	for _, t := range tables {
		for _, c := range t.Columns {
			for _, r := range c.Results {
				if len(r.Samples) >= measure.Enough {
					all = append(all, r.Spread())
				}
			}
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	return fmt.Sprintf("%.0f%%", 100*measure.Middle(all))
}
