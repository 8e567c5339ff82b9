package main

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cupule/cupule/bench/internal/servers"
)

// contest is a column in which these take so many microseconds.
func contest(label string, took map[string]int) column {
	c := column{Label: label}
	for name, us := range took {
		c.Results = append(c.Results, result(name, time.Duration(us)*time.Microsecond))
	}
	return c
}

func TestGlance(t *testing.T) {
	const mine, loop, a, b = servers.Cupule, servers.Floor, "library a", "library b"
	for name, test := range map[string]struct {
		columns        []column
		floor, library string
	}{
		"the same library is the fastest": {
			[]column{contest("1", map[string]int{mine: 10, loop: 8, a: 20, b: 30}), contest("8", map[string]int{mine: 10, loop: 20, a: 40, b: 50})},
			"1.25x, 0.50x of hand-written loop", "0.50x, 0.25x of library a",
		},
		"another one": {
			[]column{contest("1", map[string]int{mine: 10, a: 20, b: 30}), contest("8", map[string]int{mine: 10, a: 40, b: 20})},
			"", "0.50x of library a; 0.50x of library b",
		},
		"Cupule's other rows are no others": {
			[]column{contest("1", map[string]int{mine: 10, servers.CupuleLength: 5, loop: 20})}, "0.50x of hand-written loop", "",
		},
		"a column without Cupule": {
			[]column{contest("1", map[string]int{a: 10}), contest("8", map[string]int{mine: 10, a: 20})}, "", "0.50x of library a",
		},
	} {
		got := glance([]table{{Title: "no reference"}, {Title: "Echo", Reference: mine, Columns: test.columns}})
		labels := "1"
		if len(test.columns) > 1 {
			labels += "; 8"
		}
		if diff := cmp.Diff([]view{{"Echo", labels, test.floor, test.library}}, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestFloorsAreMeasured finds a floor that was named anew.
func TestFloorsAreMeasured(t *testing.T) {
	for _, name := range floors {
		if !slices.Contains(allRows(), name) {
			t.Errorf("nobody measures %q", name)
		}
	}
}
