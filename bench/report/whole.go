package main

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/cupule/cupule/bench/internal/clients"
	"github.com/cupule/cupule/bench/internal/echo"
	"github.com/cupule/cupule/bench/internal/load"
	"github.com/cupule/cupule/bench/internal/measure"
	"github.com/cupule/cupule/bench/internal/servers"
	"github.com/cupule/cupule/bench/internal/stdio"
)

// direct is the raw client on the child's standard input and output.
const direct = "the child itself, directly"

func wholeTables(l *lab) ([]table, error) {
	t := table{ID: "whole", Title: "A tool of an MCP child, called over a unix socket", Reference: servers.CupuleGateway, Note: noteWhole, Usage: true}
	var field []hosted
	var all crew
	for _, s := range servers.Gateways() {
		p, address, err := l.serve(s.Name, false, l.bin(childRaw))
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
		all = append(all, p)
		field = append(field, hosted{s, p, address})
	}
	for _, load := range byCallers() {
		c, err := l.wholeColumn(field, load)
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
		t.Columns = append(t.Columns, c)
	}
	return []table{t}, all.Close()
}

func (l *lab) wholeColumn(field []hosted, of measure.Load) (column, error) {
	c := column{Label: callersLabel(of.Callers), Load: of, Metrics: []metric{perSecond}}
	child, err := l.direct(of)
	if err != nil {
		return c, err
	}
	drivers := crew{child}
	list := []measure.Contestant{unwatched(direct, child)}
	for _, h := range field {
		d, err := h.drive(of)
		if err != nil {
			return c, errors.Join(err, drivers.Close())
		}
		drivers = append(drivers, d)
		list = append(list, watched(h.Name, h.process, d))
	}
	c.Results, err = measure.Rounds(l.ctx, list, of, l.plan)
	c.Metrics = append(c.Metrics, added(c))
	return c, errors.Join(err, drivers.Close())
}

// added is the time that a gateway adds to the direct call.
func added(c column) metric {
	return metric{"added", func(r measure.Result, _ measure.Load) string {
		base, ok := c.result(direct)
		if !ok || r.Name == direct {
			return ""
		}
		return duration(r.Median() - base.Median())
	}}
}

func (l *lab) direct(of measure.Load) (driver, error) {
	child, err := stdio.Start(l.bin(childRaw))
	if err != nil {
		return nil, err
	}
	text := echo.Text(clients.EchoSize)
	return load.NewStream(child, load.Newline, of.Callers, echo.ToolCall(text), echo.ToolResult(text)), nil
}

// unwatched makes a contestant of what has no process that could tell its usage.
func unwatched(name string, d driver) measure.Contestant {
	return measure.Contestant{Name: name, Run: func(load measure.Load) (measure.Sample, error) {
		took, err := d.Run(load)
		if errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) {
			err = fmt.Errorf("the child has ended: %w", err)
		}
		return measure.Sample{PerCall: float64(took/time.Nanosecond) / float64(load.Calls), Allocs: -1, Bytes: -1}, err
	}}
}
