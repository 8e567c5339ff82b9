package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cupule/cupule/bench/internal/clients"
	"github.com/cupule/cupule/bench/internal/measure"
	"github.com/cupule/cupule/bench/internal/servers"
)

// floors are what one writes by hand, and what has nothing in between: no libraries.
var floors = []string{servers.Floor, servers.FloorGathered, servers.PlainHTTP, clients.Floor, clients.FloorOneCall, clients.FloorBehind, direct}

// view is a row of Cupule's in one line: its time as a share of others' times.
type view struct {
	Title   string
	Columns string
	Floor   string // beside what is written by hand
	Library string // beside the fastest library; empty where the table has none
}

// glance views the first row of all tables that compare Cupule with others, and where there
// is one the row that decodes results, as libraries do.
func glance(tables []table) []view {
	var list []view
	for _, t := range tables {
		if t.Reference != "" {
			list = append(list, t.view(t.Reference, t.Title))
		}
		if slices.Contains(t.names(), clients.CupuleTyped) {
			list = append(list, t.view(clients.CupuleTyped, t.Title+"; **typed result**"))
		}
	}
	return list
}

func (t table) view(row, title string) view {
	v := view{Title: title}
	var labels []string
	var byHand, libraries shares
	for _, c := range t.Columns {
		labels = append(labels, c.Label)
		of, ok := c.result(row)
		if !ok {
			continue
		}
		byHand.add(of, c.fastest(handWritten))
		libraries.add(of, c.fastest(library))
	}
	v.Columns, v.Floor, v.Library = strings.Join(labels, "; "), byHand.String(), libraries.String()
	return v
}

// fastest returns the fastest of some rows; nil for none.
func (c column) fastest(among func(name string) bool) *measure.Result {
	var best *measure.Result
	for i, r := range c.Results {
		if among(r.Name) && (best == nil || r.Median() < best.Median()) {
			best = &c.Results[i]
		}
	}
	return best
}

// shares are a row's times as shares of others', in the order of columns.
type shares struct{ names, texts []string }

func (s *shares) add(of measure.Result, other *measure.Result) {
	if other == nil {
		return
	}
	s.names = append(s.names, other.Name)
	s.texts = append(s.texts, fmt.Sprintf("%.2fx", of.Median()/other.Median()))
}

// String names the other behind each share, or once where it is the same.
func (s *shares) String() string {
	if len(s.names) == 0 {
		return ""
	}
	text := s.texts[0]
	for i := 1; i < len(s.texts); i++ {
		if s.names[i] == s.names[i-1] {
			text += ", " + s.texts[i]
		} else {
			text += " of " + s.names[i-1] + "; " + s.texts[i]
		}
	}
	return text + " of " + s.names[len(s.names)-1]
}
