// Package measure lets contestants take turns, so that what disturbs the machine disturbs
// all of them alike, and compares medians of what it saw in that one run.
//
//	results, err := measure.Rounds(ctx, []measure.Contestant{a, b}, measure.Load{Callers: 8}, measure.Plan{Rounds: 9, Sample: 100 * time.Millisecond})
//	fmt.Println(results[1].Median() / results[0].Median())
//
// Each contestant first warms up until the length of its samples is known; then every
// round runs all of them once, in an order of its own.
package measure

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Load is what is asked of a contestant.
type Load struct {
	Callers int // that call at once
	Calls   int // of all callers together
	Size    int // bytes of payload; zero is the echo of 200 bytes
}

// Sample is what a load took. Allocations are of the side that is measured, its process alone.
type Sample struct {
	PerCall float64 // nanoseconds by the wall clock
	Allocs  float64 // per call; negative where they are unknown
	Bytes   float64 // allocated per call; negative where they are unknown
	Peak    int64   // bytes that the process held at most, since it began; zero where unknown
}

// Contestant is one way to do what a group measures.
type Contestant struct {
	Name string
	Run  func(Load) (Sample, error)
}

// Plan says how long to measure.
type Plan struct {
	Rounds int
	Sample time.Duration // the length that a sample should have
	Least  int           // calls of a sample at least, for each caller; zero means 2
}

// Result is what one contestant did.
type Result struct {
	Name    string
	Samples []Sample // one of each round, in the order of rounds
}

// Rounds measures all contestants side by side. When ctx ends, it ends after the sample
// that is being taken.
func Rounds(ctx context.Context, contestants []Contestant, load Load, plan Plan) ([]Result, error) {
	calls := make([]int, len(contestants))
	results := make([]Result, len(contestants))
	for i, c := range contestants {
		n, err := calibrate(ctx, c, load, plan)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		calls[i], results[i].Name = n, c.Name
	}
	for range plan.Rounds {
		for _, i := range rand.Perm(len(contestants)) { // lest one always follow the same other
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			load.Calls = calls[i]
			s, err := contestants[i].Run(load)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", contestants[i].Name, err)
			}
			results[i].Samples = append(results[i].Samples, s)
		}
	}
	return results, nil
}

// calibrate warms a contestant up, and returns how many calls fill a sample.
func calibrate(ctx context.Context, c Contestant, load Load, plan Plan) (int, error) {
	least := load.Callers * cmp.Or(plan.Least, 2)
	load.Calls = least
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		s, err := c.Run(load)
		if err != nil {
			return 0, err
		}
		took := s.PerCall * float64(load.Calls)
		want := int(float64(plan.Sample) / s.PerCall)
		if took >= float64(plan.Sample)/4 || want <= load.Calls {
			return max(want, least), nil
		}
		load.Calls = min(want, load.Calls*8)
	}
}

// Median returns the median time of a call in nanoseconds.
func (r Result) Median() float64 { return r.median(func(s Sample) float64 { return s.PerCall }) }

// Allocs returns the median number of allocations for a call.
func (r Result) Allocs() float64 { return r.median(func(s Sample) float64 { return s.Allocs }) }

// Bytes returns the median of what a call allocates.
func (r Result) Bytes() float64 { return r.median(func(s Sample) float64 { return s.Bytes }) }

// Peak returns the largest peak.
func (r Result) Peak() int64 {
	if len(r.Samples) == 0 {
		return 0
	}
	return slices.MaxFunc(r.Samples, func(a, b Sample) int { return cmp.Compare(a.Peak, b.Peak) }).Peak
}

// Quartiles returns between which times the middle half of the samples lies; the median
// twice where there are under four.
func (r Result) Quartiles() (low, high float64) {
	return half(r.sorted(func(s Sample) float64 { return s.PerCall }))
}

// Ratios returns between which ratios of this result's time to another's the middle half of
// the rounds of their contest lies; that of their middle twice where there are under four.
func (r Result) Ratios(other Result) (low, high float64) {
	all := make([]float64, min(len(r.Samples), len(other.Samples)))
	for i := range all {
		all[i] = r.Samples[i].PerCall / other.Samples[i].PerCall
	}
	slices.Sort(all)
	return half(all)
}

// Enough is how many samples have quartiles.
const Enough = 4

// half returns between which the middle half of sorted numbers lies.
func half(sorted []float64) (low, high float64) {
	n := len(sorted)
	if n < Enough {
		return Middle(sorted), Middle(sorted)
	}
	return sorted[n/4], sorted[n*3/4]
}

// Spread returns the distance between the quartiles as a share of the median.
func (r Result) Spread() float64 {
	low, high := r.Quartiles()
	if high == low {
		return 0
	}
	return (high - low) / r.Median()
}

func (r Result) median(of func(Sample) float64) float64 { return Middle(r.sorted(of)) }

func (r Result) sorted(of func(Sample) float64) []float64 {
	all := make([]float64, len(r.Samples))
	for i, s := range r.Samples {
		all[i] = of(s)
	}
	slices.Sort(all)
	return all
}

// Middle returns the median of sorted numbers; zero for none.
func Middle(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
