package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cupule/cupule/bench/internal/measure"
)

// noise is how much less another must need to be called ahead.
const noise = 0.97

// quantity is something of which less is better.
type quantity struct {
	name  string
	of    func(measure.Result) float64 // below zero where it is unknown
	least float64                      // a difference that is worth a word
	// clear tells a difference from noise; nil where there is none.
	clear func(mine, theirs measure.Result) bool
	text  func(float64) string
}

// What rows are compared by: in time, and in memory.
var (
	inTime   = []quantity{{quantityTime, measure.Result.Median, 0, apart, duration}}
	inMemory = []quantity{
		{quantityAllocations, measure.Result.Allocs, 0.5, nil, number},
		{quantityAllocated, measure.Result.Bytes, 32, nil, size},
		{quantityPeak, peakOf, leastPeak, nil, size},
	}
)

// leastPeak is a difference of peaks that one collection of garbage earlier or later doesn't
// make: Go's heap grows to 4 MiB before the first.
const leastPeak = 4 << 20

// apart reports whether the middle half of one's samples lies above that of the other's.
func apart(mine, theirs measure.Result) bool {
	low, _ := between(mine)
	_, high := between(theirs)
	return low > high
}

// between returns between which times the middle half of the samples lies, or all of them
// where they are few.
func between(r measure.Result) (low, high float64) {
	if n := len(r.Samples); n == 0 || n >= measure.Enough {
		return r.Quartiles()
	}
	byTime := func(a, b measure.Sample) int { return cmp.Compare(a.PerCall, b.PerCall) }
	return slices.MinFunc(r.Samples, byTime).PerCall, slices.MaxFunc(r.Samples, byTime).PerCall
}

// peakOf returns the peak; below zero where the system doesn't tell it.
func peakOf(r measure.Result) float64 {
	if n := r.Peak(); n > 0 {
		return float64(n)
	}
	return -1
}

// lags are the rows of Cupule's in one table that need more than others.
type lags struct {
	Title string
	Lines []lag
}

// lag is one row of Cupule's beside others that need less of something.
type lag struct {
	Row     string
	Others  []string
	Parts   []part
	Reasons []string // their names; none for what may be noise
}

// slower lists for each table every row of Cupule's that takes longer than another.
func slower(tables []table) []lags { return behind(tables, inTime) }

// hungrier lists those that need more memory, in one line for others with equal reasons.
func hungrier(tables []table) []lags { return fold(behind(tables, inMemory)) }

// behind lists for each table every row of Cupule's that needs more of some quantities than
// another.
func behind(tables []table, of []quantity) []lags {
	var list []lags
	for _, t := range tables {
		found := lags{Title: t.Title}
		for _, row := range t.names() {
			for _, other := range t.rivals(row) {
				if l := t.lag(row, other, of); len(l.Parts) > 0 {
					found.Lines = append(found.Lines, l)
				}
			}
		}
		if len(found.Lines) > 0 {
			list = append(list, found)
		}
	}
	return list
}

// rivals returns whom a row may fairly be compared with: for one of Cupule's all others of
// its table, or those that the table names.
func (t table) rivals(row string) []string {
	if t.Pairs != nil {
		return t.Pairs[row]
	}
	if !ours(row) {
		return nil
	}
	return slices.DeleteFunc(t.names(), ours)
}

// ours tells Cupule's rows by their names.
func ours(row string) bool { return strings.HasPrefix(row, "cupule") }

func (t table) lag(row, other string, of []quantity) lag {
	l := lag{Row: row, Others: []string{other}}
	for _, q := range of {
		p := t.exceeds(q, row, other)
		if len(p.Excesses) == 0 {
			continue
		}
		l.Parts = append(l.Parts, p)
		if name := reasonFor(gap{t.ID, row, other, q.name}); !p.noise() && !slices.Contains(l.Reasons, name) {
			l.Reasons = append(l.Reasons, name)
		}
	}
	return l
}

// exceeds returns where a row needs more of a quantity than another.
func (t table) exceeds(q quantity, row, other string) part {
	p := part{Quantity: q.name, Of: len(t.Columns)}
	for _, c := range t.Columns {
		if mine, theirs, more, clear := c.excess(q, row, other); more {
			p.Excesses = append(p.Excesses, excess{c.Label, q.times(mine, theirs), mine / theirs, !clear})
		}
	}
	return p
}

// excess returns how much of a quantity a row needs in a column, and another, whether the
// row needs more, and whether that is more than noise.
func (c column) excess(q quantity, row, other string) (mine, theirs float64, more, clear bool) {
	r, known := c.result(row)
	of, ok := c.result(other)
	if !known || !ok {
		return 0, 0, false, false
	}
	mine, theirs = q.of(r), q.of(of)
	more = mine > 0 && theirs >= 0 && theirs < mine*noise && mine-theirs >= q.least
	return mine, theirs, more, q.clear == nil || q.clear(r, of)
}

// senseless is from where on a ratio is to nearly nothing, and both figures say more.
const senseless = 500

// times says how many times another's need one's own is.
func (q quantity) times(mine, theirs float64) string {
	switch ratio := mine / theirs; {
	case theirs == 0:
		return q.text(mine) + " instead of none"
	case ratio >= senseless:
		return q.text(mine) + " instead of " + q.text(theirs)
	case ratio >= 100:
		return fmt.Sprintf("%.0fx", ratio)
	default:
		return fmt.Sprintf("%.2fx", ratio)
	}
}

// explained returns the reasons that lists of lags name, in their order.
func explained(lists ...[]lags) []reason {
	list := slices.Concat(lists...)
	var used []reason
	for _, r := range reasons() {
		if slices.ContainsFunc(list, func(l lags) bool { return l.names(r.Name) }) {
			used = append(used, r)
		}
	}
	return used
}

// unexplained reports whether a gap among the lags has no reason.
func unexplained(lists ...[]lags) bool {
	return slices.ContainsFunc(slices.Concat(lists...), func(l lags) bool { return l.names(notKnown) })
}

func (l lags) names(reason string) bool {
	return slices.ContainsFunc(l.Lines, func(l lag) bool { return slices.Contains(l.Reasons, reason) })
}
