package main

import "strings"

// Names of the quantities that rows are compared by.
const (
	quantityTime        = "time"
	quantityAllocations = "allocations"
	quantityAllocated   = "bytes allocated"
	quantityPeak        = "peak memory"
)

// gap is a quantity of which a row needs more than another in a table.
type gap struct{ table, row, other, quantity string }

// reason says why a row needs more. It stands for all gaps that one of its places covers.
type reason struct {
	Name   string
	Text   string
	places []gap
}

// notKnown is the reason of a gap that nobody has looked into.
const notKnown = "reason not known"

// reasonFor returns the name of the first reason that covers a gap.
func reasonFor(g gap) string {
	for _, r := range reasons() {
		for _, p := range r.places {
			if p.covers(g) {
				return r.Name
			}
		}
	}
	return notKnown
}

// covers reports whether a gap lies in a place. What a place leaves empty may be anything,
// and what ends with a star begins like that.
func (p gap) covers(g gap) bool {
	return like(p.table, g.table) && like(p.row, g.row) && like(p.other, g.other) && like(p.quantity, g.quantity)
}

func like(pattern, text string) bool {
	if start, cut := strings.CutSuffix(pattern, "*"); cut {
		return strings.HasPrefix(text, start)
	}
	return pattern == "" || pattern == text
}
