package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cupule/cupule/bench/internal/clients"
	"github.com/cupule/cupule/bench/internal/servers"
)

// summary says in a few sentences what the tables show, where Cupule is slower, too. What
// wasn't measured has none.
func summary(tables []table) []string {
	all := []string{
		served(tables), servedLarger(tables), called(tables), calledOnce(tables), calledLarge(tables), viaGateway(tables),
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

func handWritten(name string) bool { return slices.Contains(floors, name) }

func library(name string) bool { return !ours(name) && !handWritten(name) }

// only is among for one name.
func only(name string) func(string) bool { return func(other string) bool { return other == name } }

// standing is a row's times as shares of those of the fastest others, in the order of columns.
type standing struct {
	ratios []float64
	others []string // without repetitions
}

func compare(row string, among func(string) bool, tables ...table) standing {
	var all standing
	for _, t := range tables {
		for _, c := range t.Columns {
			of, ok := c.result(row)
			other := c.fastest(among)
			if !ok || other == nil {
				continue
			}
			all.ratios = append(all.ratios, of.Median()/other.Median())
			if !slices.Contains(all.others, other.Name) {
				all.others = append(all.others, other.Name)
			}
		}
	}
	return all
}

// String lists all shares.
func (s standing) String() string {
	var list []string
	for _, r := range s.ratios {
		list = append(list, fmt.Sprintf("%.2fx", r))
	}
	return listed(list)
}

// span is from the least share to the most.
func (s standing) span() string {
	if len(s.ratios) == 0 {
		return "nothing"
	}
	least, most := fmt.Sprintf("%.2fx", slices.Min(s.ratios)), fmt.Sprintf("%.2fx", slices.Max(s.ratios))
	if least == most {
		return least
	}
	return least + " to " + most
}

// listed joins texts as a sentence does.
func listed(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " and " + list[last]
}

func (t table) labels() string { return listed(columnLabels(t)) }

func columnLabels(t table) []string {
	var list []string
	for _, c := range t.Columns {
		list = append(list, c.Label)
	}
	return list
}

func served(tables []table) string {
	t, ok := find(tables, "inbound")
	if !ok {
		return ""
	}
	return fmt.Sprintf("**Serving** 200 bytes over a unix socket takes %s as long as the faster of two hand-written loops, and %s as long as the fastest library (%s).",
		compare(servers.Cupule, handWritten, t), compare(servers.Cupule, library, t), t.labels())
}

func servedLarger(tables []table) string {
	t, ok := find(tables, "payload")
	if !ok {
		return ""
	}
	beside := compare(servers.Cupule, library, t)
	return fmt.Sprintf("**Serving larger messages** takes %s as long as the faster of these loops, and %s as long as the fastest library, which is %s.",
		compare(servers.Cupule, handWritten, t).span(), beside.span(), strings.Join(beside.others, " or "))
}

func called(tables []table) string {
	t, ok := find(tables, "outbound")
	if !ok {
		return ""
	}
	return fmt.Sprintf("**Calling a tool** of a child in a session that lasts takes %s as long as a hand-written client, and %s as long as the fastest library, "+
		"which decodes the result; with Cupule's decoded, too, %s and %s (%s).",
		compare(clients.Cupule, handWritten, t), compare(clients.Cupule, library, t),
		compare(clients.CupuleTyped, handWritten, t), compare(clients.CupuleTyped, library, t), t.labels())
}

func calledOnce(tables []table) string {
	t, ok := find(tables, "onecall")
	if !ok {
		return ""
	}
	share := func(among func(string) bool) standing { return compare(clients.CupuleOneCall, among, t) }
	return fmt.Sprintf("**Starting a child for one call** takes %s as long as by hand with a wait for the child's end, %s as long as by hand with the end behind the caller's back, as Cupule's is, "+
		"and %s as long as the fastest library, which waits.",
		share(only(clients.FloorOneCall)), share(only(clients.FloorBehind)), share(library))
}

func calledLarge(tables []table) string {
	var large []table
	for _, t := range tables {
		if strings.HasPrefix(t.ID, "large ") {
			large = append(large, t)
		}
	}
	if large == nil {
		return ""
	}
	return fmt.Sprintf("**Getting a large result** takes %s as long as a hand-written client, and %s as long as the fastest library; decoded, %s and %s.",
		compare(clients.Cupule, handWritten, large...).span(), compare(clients.Cupule, library, large...).span(),
		compare(clients.CupuleTyped, handWritten, large...).span(), compare(clients.CupuleTyped, library, large...).span())
}

func viaGateway(tables []table) string {
	t, ok := find(tables, "whole")
	if !ok {
		return ""
	}
	return fmt.Sprintf("**A gateway** before a child adds %s to a call, and one made of go-sdk's server and client %s (%s).",
		t.added(servers.CupuleGateway), t.added(servers.SDKProxy), t.labels())
}

// added is what a row takes beyond the direct call in each column.
func (t table) added(row string) string {
	var list []string
	for _, c := range t.Columns {
		of, ok := c.result(row)
		if base, known := c.result(direct); ok && known {
			list = append(list, duration(of.Median()-base.Median()))
		}
	}
	return listed(list)
}
