package main

import (
	"errors"
	"fmt"

	"github.com/cupule/cupule/bench/internal/clients"
	"github.com/cupule/cupule/bench/internal/measure"
	"github.com/cupule/cupule/bench/internal/servers"
)

// large is a result of a size, of a server.
type large struct {
	place
	label string
	size  int
}

// larges returns what is measured. A short run knows the trivial child, and no 32 MiB.
func (l *lab) larges() []large {
	child := place{title: trivialChild, child: childRaw}
	list := []large{{child, "256 KiB", 256 << 10}, {child, "4 MiB", 4 << 20}}
	if l.short {
		return list
	}
	http := place{id: "-http", title: servers.RawMCP, server: servers.RawMCP}
	return append(list, large{child, "32 MiB", 32 << 20},
		large{place{id: "-gosdk", title: "the child built on go-sdk", child: childSDK}, "4 MiB", 4 << 20},
		large{http, "256 KiB", 256 << 10}, large{http, "4 MiB", 4 << 20}, large{http, "32 MiB", 32 << 20},
		large{place{id: "-http-gosdk", title: servers.SDKMCP, server: servers.SDKMCP}, "4 MiB", 4 << 20})
}

// largeTables measures large results. Each size has processes of its own, so that their
// peaks are its own.
func largeTables(l *lab) ([]table, error) {
	var list []table
	for _, s := range l.larges() {
		c, err := l.largeColumn(s)
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", s.label, s.title, err)
		}
		t := table{ID: "large " + s.label + s.id, Title: titleLarge(s.label, s.title),
			Reference: clients.Cupule, Columns: []column{c}}
		if len(list) == 0 {
			t.Note = noteLarge
		}
		list = append(list, t)
	}
	return list, nil
}

func (l *lab) largeColumn(s large) (column, error) {
	load := measure.Load{Callers: 1, Size: s.size}
	c := column{Label: s.label, Load: load, Metrics: []metric{throughput, allocations, timesSize, peak}}
	at, closing, err := l.reach(s.place)
	if err != nil {
		return c, err
	}
	names := []string{clients.Cupule, clients.CupuleTyped, clients.Floor, clients.SDK, clients.MCPGo}
	list, all, err := l.clients(names, at, s.size, 0)
	if err == nil {
		plan := l.plan
		plan.Rounds = min(plan.Rounds, 7)
		c.Results, err = measure.Rounds(l.ctx, list, load, plan)
	}
	return c, errors.Join(err, all.Close(), closing())
}
