package main

import (
	"log"
	"slices"
)

// doubts is how often a short run measures a group again that failed.
const doubts = 2

// doubt measures groups again in which a ratio failed: something else may have run beside
// them. A ratio holds if it held once; counts of allocations have no second chance.
func (l *lab) doubt(verdicts []verdict) ([]verdict, error) {
	for range doubts {
		for _, name := range doubtful(verdicts) {
			log.Printf("a ratio failed, once more: %s", name)
			tables, err := l.measure(name)
			if err != nil {
				return nil, err
			}
			verdicts = best(verdicts, judge(tables, l.short))
		}
	}
	return verdicts, nil
}

// doubtful returns the groups in which a ratio failed.
func doubtful(verdicts []verdict) []string {
	var list []string
	for _, v := range verdicts {
		if v.Ratio && !v.Holds && !slices.Contains(list, v.Group) {
			list = append(list, v.Group)
		}
	}
	return list
}

// best replaces ratios that failed by those of another attempt that hold, and marks all that
// had one.
func best(verdicts, again []verdict) []verdict {
	list := slices.Clone(verdicts)
	for i, v := range list {
		if !v.Ratio || v.Holds {
			continue
		}
		j := slices.IndexFunc(again, func(other verdict) bool { return other.Text == v.Text })
		if j < 0 {
			continue
		}
		if again[j].Holds {
			list[i] = again[j]
		}
		list[i].Again = true
	}
	return list
}
