package measure

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Calls runs the calls of a load from its callers and returns how long they took by the
// wall clock. It stops at the first error.
func Calls(load Load, call func(caller int) error) (time.Duration, error) {
	var left atomic.Int64
	left.Store(int64(load.Calls))
	failed := make(chan error, load.Callers)
	var wg sync.WaitGroup
	began := time.Now()
	for caller := range load.Callers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if err := call(caller); err != nil {
					left.Store(0)
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	close(failed)
	return took, <-failed
}

// Paced calls one by one with a pause before each, and returns the median time of a call
// without the pauses.
func Paced(calls int, pause time.Duration, call func() error) (time.Duration, error) {
	all := make([]time.Duration, 0, calls)
	for range calls {
		time.Sleep(pause)
		began := time.Now()
		if err := call(); err != nil {
			return 0, err
		}
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}

// InProcess makes a contestant of a function that is called in this process, by one
// caller. The function makes so many calls at once as batch says, lest calling it be what
// is measured. Garbage that others left is collected before the clock starts.
func InProcess(name string, batch int, calls func() error) Contestant {
	return Contestant{Name: name, Run: func(load Load) (Sample, error) {
		var before, after runtime.MemStats
		times := (load.Calls + batch - 1) / batch
		runtime.GC()
		runtime.ReadMemStats(&before)
		began := time.Now()
		for range times {
			if err := calls(); err != nil {
				return Sample{}, err
			}
		}
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		n := float64(times * batch)
		return Sample{
			PerCall: float64(took) / n,
			Allocs:  float64(after.Mallocs-before.Mallocs) / n,
			Bytes:   float64(after.TotalAlloc-before.TotalAlloc) / n,
		}, nil
	}}
}
