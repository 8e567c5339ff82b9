// Package worker runs a contestant in a process of its own, so that its allocations and
// its memory are its own. The two sides speak one JSON value a line: an [Order] goes in,
// a [Report] comes out, and the end of input ends the process.
package worker

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/cupule/cupule/bench/internal/measure"
)

// Order asks for calls. A server is asked for zero calls, and only reports its usage.
type Order struct {
	measure.Load
	Pause time.Duration // before each call; calls are then made one by one
}

// Report is the answer to an order.
type Report struct {
	PerCall float64 // nanoseconds
	Usage
	Error string `json:",omitempty"`
}

// Usage is what the process has used since it began.
type Usage struct {
	Mallocs uint64
	Bytes   uint64
	Peak    int64 // of resident memory, in bytes; zero where the system doesn't tell
}

// Serve answers orders until there are no more. A nil work makes no calls.
func Serve(in io.Reader, out io.Writer, work func(Order) (perCall time.Duration, err error)) error {
	orders, reports := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	for {
		var o Order
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := reports.Encode(report(o, work)); err != nil {
			return err
		}
	}
}

// report makes the calls. Its usage is that of these calls alone, but for the peak; where
// there are none, it is that of the process so far.
func report(o Order, work func(Order) (time.Duration, error)) Report {
	if o.Calls == 0 || work == nil {
		return Report{Usage: usage()}
	}
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	perCall, err := work(o)
	after := usage()
	r := Report{PerCall: float64(perCall), Usage: Usage{
		Mallocs: after.Mallocs - before.Mallocs, Bytes: after.Bytes - before.TotalAlloc, Peak: after.Peak,
	}}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

func usage() Usage {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Usage{Mallocs: m.Mallocs, Bytes: m.TotalAlloc, Peak: peak()}
}

// peak reads the high-water mark of resident memory, which Linux tells.
func peak() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kib, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}
