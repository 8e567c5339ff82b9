package config

import (
	"fmt"
	"iter"
)

// maxGuesses bounds the names that one file is compared with, so that guessing never
// takes more than linear time.
const maxGuesses = 100_000

// suggest returns `, did you mean "x"?` for the name that is closest to what was written,
// or "" where none is close.
func (r *reader) suggest(written string, candidates iter.Seq[string]) string {
	best, bound := "", min(len(written)/3+1, 3)+1
	for name := range candidates {
		if r.guesses++; r.guesses > maxGuesses || len(written) > 80 {
			break
		}
		if d := distance(written, name, bound+1); d < bound || d == bound && best != "" && name < best {
			best, bound = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", best)
}

// distance returns the number of letters to change, insert, remove or swap with their
// neighbour to make b from a, or bound where it is at least that.
func distance(a, b string, bound int) int {
	if len(a)-len(b) >= bound || len(b)-len(a) >= bound {
		return bound
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+differ(a[i-1], b[j-1]))
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least >= bound {
			return bound
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], bound)
}

func differ(a, b byte) int {
	if a == b {
		return 0
	}
	return 1
}
