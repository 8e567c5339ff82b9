package main

import (
	"errors"
	"fmt"

	"github.com/cupule/cupule/bench/internal/clients"
	"github.com/cupule/cupule/bench/internal/measure"
)

var sizes = []struct {
	label string
	size  int
}{{"256 KiB", 256 << 10}, {"4 MiB", 4 << 20}, {"32 MiB", 32 << 20}}

// largeTables measures large results. Each size has processes of its own, so that their
// peaks are its own.
func largeTables(l *lab) ([]table, error) {
	t := table{ID: "large", Title: "Large results of a tool, 1 caller, the trivial child", Reference: clients.Cupule, Note: noteLarge}
	for _, s := range sizes {
		if l.short && s.size > 4<<20 {
			continue
		}
		c, err := l.largeColumn(s.label, s.size)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.label, err)
		}
		t.Columns = append(t.Columns, c)
	}
	return split(t), nil
}

// split makes a table of each column, since these columns are wide.
func split(t table) []table {
	var list []table
	for i, c := range t.Columns {
		one := t
		one.ID, one.Columns = t.ID+" "+c.Label, []column{c}
		if i > 0 {
			one.Title, one.Note = "The same, "+c.Label, ""
		}
		list = append(list, one)
	}
	return list
}

func (l *lab) largeColumn(label string, size int) (column, error) {
	load := measure.Load{Callers: 1, Size: size}
	c := column{Label: label, Load: load, Metrics: []metric{throughput, timesSize, peak}}
	var list []measure.Contestant
	var all crew
	for _, name := range []string{clients.Cupule, clients.CupuleTyped, clients.Floor, clients.SDK, clients.MCPGo} {
		p, err := l.client(name, l.bin(childRaw), size)
		if err != nil {
			return c, errors.Join(fmt.Errorf("%s: %w", name, err), all.Close())
		}
		all = append(all, p)
		list = append(list, calling(name, p, 0))
	}
	plan := l.plan()
	plan.Rounds = min(plan.Rounds, 7)
	var err error
	c.Results, err = measure.Rounds(list, load, plan)
	return c, errors.Join(err, all.Close())
}
