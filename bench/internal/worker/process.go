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
	child    *stdio.Child
	orders   *json.Encoder
	reports  *json.Decoder
	patience time.Duration
}

// Start starts a program that calls Serve. It is ready when Start returns.
func Start(path string, args ...string) (*Process, error) {
	child, err := stdio.Start(path, args...)
	if err != nil {
		return nil, err
	}
	p := &Process{child: child, orders: json.NewEncoder(child), reports: json.NewDecoder(child), patience: Patience}
	if _, err := p.Do(Order{}); err != nil {
		return nil, errors.Join(fmt.Errorf("%s %v did not start: %w", path, args, err), p.Close())
	}
	return p, nil
}

// Do gives one order.
func (p *Process) Do(o Order) (Report, error) {
	guard := time.AfterFunc(p.patience, p.child.Kill)
	r, err := p.ask(o)
	switch {
	case !guard.Stop() && err != nil:
		return r, fmt.Errorf("no answer within %v", p.patience)
	case err != nil:
		return r, fmt.Errorf("the process has ended: %w", err)
	case r.Error != "":
		return r, errors.New(r.Error)
	}
	return r, nil
}

func (p *Process) ask(o Order) (r Report, err error) {
	if err := p.orders.Encode(o); err != nil {
		return r, err
	}
	return r, p.reports.Decode(&r)
}

// Run lets the process make the calls of a load.
func (p *Process) Run(load measure.Load, pause time.Duration) (measure.Sample, error) {
	r, err := p.Do(Order{Load: load, Pause: pause})
	n := float64(load.Calls)
	return measure.Sample{PerCall: r.PerCall, Allocs: float64(r.Mallocs) / n, Bytes: float64(r.Bytes) / n, Peak: r.Peak}, err
}

// Close ends the process and waits for its end.
func (p *Process) Close() error { return p.child.Close() }
