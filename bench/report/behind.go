package main

import (
	"fmt"
	"strings"
)

// noise is how much faster another must be to be called so.
const noise = 0.97

// behind lists, for each table, who takes less time than its reference: the peers, and the
// floors that are written by hand, but not Cupule in another form.
func behind(tables []table) []string {
	var list []string
	for _, t := range tables {
		for _, name := range t.names() {
			if strings.HasPrefix(name, "cupule") || name == direct {
				continue
			}
			if where := t.ahead(name); len(where) > 0 {
				list = append(list, fmt.Sprintf("%s: %s needs %s of the time of %s", t.Title, name, strings.Join(where, ", "), t.Reference))
			}
		}
	}
	return list
}

// ahead returns where a contestant takes less time than the reference, and what part of it.
func (t table) ahead(name string) []string {
	var list []string
	for _, c := range t.Columns {
		of, known := c.result(t.Reference)
		r, ok := c.result(name)
		if known && ok && r.Median() < of.Median()*noise {
			list = append(list, fmt.Sprintf("%.2f (%s)", r.Median()/of.Median(), c.Label))
		}
	}
	return list
}
