package main

import (
	"fmt"
	"slices"

	"github.com/cupule/cupule/bench/internal/measure"
)

// table is a field of contestants, measured side by side in each column.
type table struct {
	Group string // that measured it
	ID    string
	Title string
	Note  string
	// Reference is the contestant that the others' ratios are to; empty for none.
	Reference string
	Columns   []column
	// Usage shows allocations and memory of all columns in a table of their own.
	Usage bool
	// Pairs are the rows that may be compared and with which; nil compares each row of
	// Cupule's with all others.
	Pairs map[string][]string
}

// column is one contest: all contestants under one load.
type column struct {
	Label   string
	Load    measure.Load
	Metrics []metric // shown beside the time
	Results []measure.Result
}

// metric is something of a result that a table shows.
type metric struct {
	Label string
	Text  func(measure.Result, measure.Load) string
}

var (
	allocations = metric{"allocations", func(r measure.Result, _ measure.Load) string { return number(r.Allocs()) }}
	allocated   = metric{"allocated", func(r measure.Result, _ measure.Load) string { return size(r.Bytes()) }}
	perSecond   = metric{"calls/s", func(r measure.Result, _ measure.Load) string { return number(1e9 / r.Median()) }}
	peak        = metric{"peak memory", func(r measure.Result, _ measure.Load) string { return known(float64(r.Peak())) }}
	throughput  = metric{"throughput", func(r measure.Result, l measure.Load) string {
		return size(float64(l.Size)*1e9/r.Median()) + "/s"
	}}
	timesSize = metric{"allocated / size", func(r measure.Result, l measure.Load) string {
		return fmt.Sprintf("%.2f", r.Bytes()/float64(l.Size))
	}}
)

// find returns the table with this id.
func find(tables []table, id string) (table, bool) {
	i := slices.IndexFunc(tables, func(t table) bool { return t.ID == id })
	if i < 0 {
		return table{}, false
	}
	return tables[i], true
}

// column returns the column with this label.
func (t table) column(label string) (column, bool) {
	i := slices.IndexFunc(t.Columns, func(c column) bool { return c.Label == label })
	if i < 0 {
		return column{}, false
	}
	return t.Columns[i], true
}

// result returns what a contestant did.
func (c column) result(name string) (measure.Result, bool) {
	i := slices.IndexFunc(c.Results, func(r measure.Result) bool { return r.Name == name })
	if i < 0 {
		return measure.Result{}, false
	}
	return c.Results[i], true
}

// names returns the contestants in their order.
func (t table) names() []string {
	var list []string
	for _, c := range t.Columns {
		for _, r := range c.Results {
			if !slices.Contains(list, r.Name) {
				list = append(list, r.Name)
			}
		}
	}
	return list
}

// heads returns the heads of the table's columns.
func (t table) heads() []string {
	list := []string{""}
	for _, c := range t.Columns {
		list = append(list, c.Label)
		for _, m := range c.Metrics {
			list = append(list, m.Label)
		}
	}
	return list
}

// row returns the cells of a contestant.
func (t table) row(name string) []string {
	list := []string{name}
	for _, c := range t.Columns {
		r, ok := c.result(name)
		if !ok {
			list = append(list, slices.Repeat([]string{""}, 1+len(c.Metrics))...)
			continue
		}
		list = append(list, t.cell(c, r))
		for _, m := range c.Metrics {
			list = append(list, m.Text(r, c.Load))
		}
	}
	return list
}

// cell returns the time of a call, and how many times the reference's that is.
func (t table) cell(c column, r measure.Result) string {
	text := duration(r.Median())
	if of, ok := c.result(t.Reference); ok {
		text += fmt.Sprintf(" (%.2fx)", r.Median()/of.Median())
	}
	return text
}

// duration writes nanoseconds in a unit that suits them.
func duration(ns float64) string {
	switch {
	case ns < 1e3:
		return fmt.Sprintf("%.3g ns", ns)
	case ns < 1e6:
		return fmt.Sprintf("%.3g us", ns/1e3)
	case ns < 1e9:
		return fmt.Sprintf("%.3g ms", ns/1e6)
	}
	return fmt.Sprintf("%.3g s", ns/1e9)
}

// size writes bytes in a unit that suits them.
func size(n float64) string {
	switch {
	case n < 0:
		return ""
	case n < 1<<10:
		return fmt.Sprintf("%.0f B", n)
	case n < 1000<<10:
		return fmt.Sprintf("%.3g KiB", n/(1<<10))
	case n < 1000<<20:
		return fmt.Sprintf("%.3g MiB", n/(1<<20))
	}
	return fmt.Sprintf("%.3g GiB", n/(1<<30))
}

// known is size for what is zero where the system doesn't tell it.
func known(n float64) string {
	if n == 0 {
		return ""
	}
	return size(n)
}

// number writes a count; nothing where it is unknown.
func number(n float64) string {
	switch {
	case n < 0:
		return ""
	case n < 100:
		return fmt.Sprintf("%.1f", n)
	}
	return fmt.Sprintf("%.0f", n)
}
