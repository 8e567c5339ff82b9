package main

import (
	"fmt"
	"strings"

	"github.com/cupule/cupule/bench/internal/measure"
)

// markdown draws a table, and below it what its contestants used, where that has a table
// of its own.
func markdown(t table) string {
	text := grid(t.heads(), t.names(), t.row)
	if t.Usage {
		text += "\nAllocations of a call, bytes allocated by it, and the peak of resident memory by the end of the table:\n\n" +
			grid(t.usageHeads(), t.names(), t.usage)
	}
	return text
}

// grid draws rows below heads.
func grid(heads, names []string, row func(string) []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(heads, " | "), " --- |"+strings.Repeat(" ---: |", len(heads)-1))
	for _, name := range names {
		if cells := row(name); cells != nil {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
		}
	}
	return b.String()
}

func (t table) usageHeads() []string {
	list := []string{""}
	for _, c := range t.Columns {
		list = append(list, c.Label)
	}
	return append(list, peak.Label)
}

// usage returns what a contestant used in each column, and the peak in the last one; nil
// for one that can't tell.
func (t table) usage(name string) []string {
	list := []string{name}
	var last measure.Result
	for _, c := range t.Columns {
		r, ok := c.result(name)
		if !ok || r.Allocs() < 0 {
			list = append(list, "")
			continue
		}
		last = r
		list = append(list, number(r.Allocs())+", "+size(r.Bytes()))
	}
	if last.Name == "" {
		return nil
	}
	return append(list, peak.Text(last, measure.Load{}))
}
