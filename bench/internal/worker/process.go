package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cupule/cupule/bench/internal/measure"
	"github.com/cupule/cupule/bench/internal/stdio"
)

// Patience is how long one order may take.
const Patience = 2 * time.Minute

// Process is a contestant in a process of its own. It takes one order at a time.
type Process struct {
	child   *stdio.Child
	orders  *json.Encoder
	reports *json.Decoder
}

// Start starts a program that calls Serve. It is ready when Start returns.
func Start(path string, args ...string) (*Process, error) {
	child, err := stdio.Start(path, args...)
	if err != nil {
		return nil, err
	}
	p := &Process{child: child, orders: json.NewEncoder(child), reports: json.NewDecoder(child)}
	if _, err := p.Do(Order{}); err != nil {
		return nil, errors.Join(fmt.Errorf("%s %v did not start: %w", path, args, err), p.Close())
	}
	return p, nil
}

// Do gives one order.
func (p *Process) Do(o Order) (Report, error) {
	guard := time.AfterFunc(Patience, p.child.Kill)
	defer guard.Stop()
	var r Report
	if err := p.orders.Encode(o); err != nil {
		return r, err
	}
	if err := p.reports.Decode(&r); err != nil {
		return r, err
	}
	if r.Error != "" {
		return r, errors.New(r.Error)
	}
	return r, nil
}

// Run lets the process make the calls of a load.
func (p *Process) Run(load measure.Load, pause time.Duration) (measure.Sample, error) {
	r, err := p.Do(Order{Load: load, Pause: pause})
	n := float64(load.Calls)
	return measure.Sample{PerCall: r.PerCall, Allocs: float64(r.Mallocs) / n, Bytes: float64(r.Bytes) / n, Peak: r.Peak}, err
}

// Close ends the process and waits for its end.
func (p *Process) Close() error { return p.child.Close() }
