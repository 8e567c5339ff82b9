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
	var list []table
	for _, s := range sizes {
		if l.short && s.size > 4<<20 {
			continue
		}
		c, err := l.largeColumn(s.label, s.size)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.label, err)
		}
		t := table{ID: "large " + s.label, Title: "Results of " + s.label + ", 1 caller, the trivial child", Reference: clients.Cupule, Columns: []column{c}}
		if len(list) == 0 {
			t.Note = noteLarge
		}
		list = append(list, t)
	}
	return list, nil
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
	plan := l.plan
	plan.Rounds = min(plan.Rounds, 7)
	var err error
	c.Results, err = measure.Rounds(list, load, plan)
	return c, errors.Join(err, all.Close())
}
