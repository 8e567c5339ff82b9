package measure

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// steady answers each call in the same time, and notes its turns.
func steady(name string, perCall time.Duration, turns *[]string) Contestant {
	return Contestant{Name: name, Run: func(l Load) (Sample, error) {
		*turns = append(*turns, name)
		return Sample{PerCall: float64(perCall), Allocs: float64(l.Calls)}, nil
	}}
}

func TestRoundsTakeTurns(t *testing.T) {
	var turns []string
	a, b, c := steady("a", time.Second, &turns), steady("b", time.Second, &turns), steady("c", time.Second, &turns)
	results, err := Rounds(t.Context(), []Contestant{a, b, c}, Load{Callers: 1}, Plan{Rounds: 4, Sample: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if len(turns) != 3*(1+4) { // warming up, and four rounds
		t.Fatalf("turns %s", turns)
	}
	for round := range slices.Chunk(turns, 3) {
		if slices.Sort(round); !slices.Equal(round, []string{"a", "b", "c"}) {
			t.Errorf("a round of %s", round)
		}
	}
	for _, r := range results {
		if len(r.Samples) != 4 || r.Median() != 1e9 {
			t.Errorf("%s: %v", r.Name, r.Samples)
		}
	}
}

func TestCalibrate(t *testing.T) {
	for _, test := range []struct {
		perCall time.Duration
		load    Load
		plan    Plan
		want    int
	}{
		{time.Microsecond, Load{Callers: 1}, Plan{Sample: 100 * time.Millisecond}, 100_000},
		{time.Second, Load{Callers: 1}, Plan{Sample: 100 * time.Millisecond}, 2},
		{time.Second, Load{Callers: 64}, Plan{Sample: 100 * time.Millisecond}, 128},
		{time.Millisecond, Load{Callers: 1}, Plan{Least: 10}, 10},
	} {
		var turns []string
		n, err := calibrate(t.Context(), steady("x", test.perCall, &turns), test.load, test.plan)
		if err != nil || n != test.want {
			t.Errorf("%v, %v: %d calls, %v; want %d", test.perCall, test.plan, n, err, test.want)
		}
	}
}

func TestRoundsNameWhoFails(t *testing.T) {
	broken := errors.New("wrong answer")
	warm := 0
	late := Contestant{Name: "late", Run: func(Load) (Sample, error) {
		if warm++; warm > 1 {
			return Sample{}, broken
		}
		return Sample{PerCall: 1e9}, nil
	}}
	for _, c := range []Contestant{late, {Name: "early", Run: func(Load) (Sample, error) { return Sample{}, broken }}} {
		_, err := Rounds(t.Context(), []Contestant{c}, Load{Callers: 1}, Plan{Rounds: 1, Sample: time.Second})
		if !errors.Is(err, broken) || !strings.Contains(err.Error(), c.Name) {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}

func TestMedians(t *testing.T) {
	r := Result{Samples: []Sample{
		{PerCall: 5, Allocs: 1, Bytes: 10, Peak: 7}, {PerCall: 1, Allocs: 3, Bytes: 30, Peak: 9},
		{PerCall: 3, Allocs: 2, Bytes: 20, Peak: 8}, {PerCall: 100, Allocs: 2, Bytes: 20},
	}}
	if got := []float64{r.Median(), r.Allocs(), r.Bytes(), float64(r.Peak())}; !slices.Equal(got, []float64{4, 2, 20, 9}) {
		t.Errorf("medians and peak %v", got)
	}
	if got := r.Spread(); math.Abs(got-(100-3)/4.) > 1e-9 {
		t.Errorf("spread %v", got)
	}
	var none Result
	if none.Median() != 0 || none.Peak() != 0 || none.Spread() != 0 {
		t.Error("a result without samples is not zero")
	}
}

func TestQuartiles(t *testing.T) {
	r := Result{Samples: []Sample{{PerCall: 4}, {PerCall: 1}, {PerCall: 3}}}
	if low, high := r.Quartiles(); low != 3 || high != 3 || r.Spread() != 0 {
		t.Errorf("of three samples %v, %v", low, high)
	}
	r.Samples = append(r.Samples, Sample{PerCall: 2})
	if low, high := r.Quartiles(); low != 2 || high != 4 || r.Spread() != 0.8 {
		t.Errorf("of four samples %v, %v", low, high)
	}
}

func TestRatiosPairTheSamplesOfARound(t *testing.T) {
	times := func(list ...float64) (r Result) {
		for _, ns := range list {
			r.Samples = append(r.Samples, Sample{PerCall: ns})
		}
		return r
	}
	for name, test := range map[string]struct {
		of, other Result
		low, high float64
	}{
		"a slow round is slow for both": {times(2, 20, 4, 6), times(1, 10, 2, 3), 2, 2},
		"the middle half":               {times(1, 2, 3, 4), times(1, 1, 1, 1), 2, 4},
		"three rounds":                  {times(3, 1, 2), times(1, 1, 1), 2, 2},
		"no rounds":                     {times(), times(1), 0, 0},
	} {
		if low, high := test.of.Ratios(test.other); low != test.low || high != test.high {
			t.Errorf("%s: %v to %v", name, low, high)
		}
	}
}

func TestCallsAreCounted(t *testing.T) {
	calls := make([]int, 8)
	took, err := Calls(Load{Callers: 8, Calls: 1000}, func(caller int) error { calls[caller]++; return nil })
	total := 0
	for _, n := range calls {
		total += n
	}
	if err != nil || total != 1000 || took <= 0 {
		t.Errorf("%d calls in %v, %v", total, took, err)
	}
}

func TestCallsStopAtAnError(t *testing.T) {
	broken := errors.New("wrong answer")
	made := 0
	_, err := Calls(Load{Callers: 1, Calls: 1000}, func(int) error {
		if made++; made == 3 {
			return broken
		}
		return nil
	})
	if !errors.Is(err, broken) || made != 3 {
		t.Errorf("%d calls, %v", made, err)
	}
}

func TestPacedTakesTheMedianWithoutPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		times := []time.Duration{3, 1, 50}
		got, err := Paced(len(times), time.Hour, func() error {
			time.Sleep(times[0])
			times = times[1:]
			return nil
		})
		if err != nil || got != 3 {
			t.Errorf("%v, %v", got, err)
		}
	})
}

func TestInProcessCountsEachCall(t *testing.T) {
	made := 0
	var kept []byte
	c := InProcess("x", 10, func() error {
		made += 10
		for range 10 {
			kept = make([]byte, 1<<10)
		}
		return nil
	})
	s, err := c.Run(Load{Calls: 95})
	if err != nil || made != 100 || len(kept) == 0 {
		t.Fatalf("%d calls, %v", made, err)
	}
	if s.Allocs < 0.99 || s.Allocs > 1.5 || s.Bytes < 1<<10 || s.Bytes > 2<<10 {
		t.Errorf("%v allocations of %v bytes in each call", s.Allocs, s.Bytes)
	}
}

func TestRoundsEndWithTheirContext(t *testing.T) {
	for name, last := range map[string]int{"while warming up": 1, "between samples": 5} {
		ctx, cancel := context.WithCancel(t.Context())
		runs := 0
		c := Contestant{Name: "x", Run: func(Load) (Sample, error) {
			if runs++; runs == last {
				cancel()
			}
			return Sample{PerCall: 1}, nil
		}}
		results, err := Rounds(ctx, []Contestant{c}, Load{Callers: 1}, Plan{Rounds: 100, Sample: time.Microsecond})
		if !errors.Is(err, context.Canceled) || results != nil || runs != last {
			t.Errorf("%s: %v, %v after %d samples", name, results, err, runs)
		}
	}
}
