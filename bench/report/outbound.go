package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/cupule/cupule/bench/internal/clients"
	"github.com/cupule/cupule/bench/internal/measure"
	"github.com/cupule/cupule/bench/internal/servers"
	"github.com/cupule/cupule/bench/internal/worker"
)

func outboundTables(l *lab) ([]table, error) {
	all, err := l.childTables(childRaw)
	if err != nil {
		return nil, err
	}
	paced, err := l.pacedTable()
	if err != nil || l.short {
		return append(all, paced), err
	}
	sdk, err := l.childTables(childSDK)
	if err != nil {
		return nil, err
	}
	all = append(append(all, paced), sdk...)
	for _, server := range []string{servers.RawMCP, servers.SDKMCP} {
		t, err := l.httpTable(server)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// childTables measures sessions that last and sessions of one call with one child.
func (l *lab) childTables(child string) ([]table, error) {
	last := table{ID: "outbound", Title: "tools/call echo of 200 bytes, one session, the trivial child", Reference: clients.Cupule, Note: noteOutbound}
	single := table{ID: "onecall", Title: "A session for each call, the trivial child", Reference: clients.CupuleOneCall, Note: noteOneCall}
	names := lasting
	if child == childSDK {
		last.ID, last.Title, last.Note = "outbound-gosdk", "tools/call echo of 200 bytes, one session, the child built on go-sdk", noteOutboundSDK
		single.ID, single.Title, single.Note = "onecall-gosdk", "A session for each call, the child built on go-sdk", ""
		names = modern
	}
	if err := l.callers(&last, names, l.bin(child), byCallers()); err != nil {
		return nil, err
	}
	err := l.callers(&single, oneCall, l.bin(child), byCallers()[:1])
	return []table{last, single}, err
}

func (l *lab) httpTable(server string) (table, error) {
	t := table{ID: "outbound: " + server, Title: "tools/call echo of 200 bytes, " + server, Reference: clients.Cupule}
	p, address, err := l.serve(server, true, "")
	if err != nil {
		return t, err
	}
	err = l.callers(&t, modern, "http://"+address+"/mcp", byCallers())
	return t, errors.Join(err, p.Close())
}

// The clients of each kind of table.
var (
	lasting = []string{clients.Cupule, clients.CupuleTyped, clients.CupuleShared, clients.Floor, clients.SDK, clients.MCPGo}
	modern  = []string{clients.Cupule, clients.CupuleTyped, clients.CupulePinned, clients.Floor, clients.SDK, clients.MCPGo}
	oneCall = []string{clients.CupuleOneCall, clients.FloorOneCall, clients.SDKOneCall, clients.MCPGoOneCall}
	nowThen = []string{clients.Cupule, clients.CupuleWarm, clients.CupuleOneCall, clients.FloorOneCall}
)

// callers adds a column for each load, in which each client calls the same server.
func (l *lab) callers(t *table, names []string, at string, loads []measure.Load) error {
	var list []measure.Contestant
	var all crew
	for _, name := range names {
		p, err := l.client(name, at, 0)
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", name, err), all.Close())
		}
		all = append(all, p)
		list = append(list, calling(name, p, 0))
	}
	for _, load := range loads {
		results, err := measure.Rounds(list, load, l.plan)
		if err != nil {
			return errors.Join(err, all.Close())
		}
		c := column{Label: callersLabel(load.Callers), Load: load, Results: results}
		if load.Callers == 1 {
			c.Metrics = []metric{allocations, allocated}
		}
		t.Columns = append(t.Columns, c)
	}
	return all.Close()
}

// calling makes a contestant of a client that runs elsewhere.
func calling(name string, p *worker.Process, pause time.Duration) measure.Contestant {
	return measure.Contestant{Name: name, Run: func(load measure.Load) (measure.Sample, error) { return p.Run(load, pause) }}
}

// pause lets a warm spare get ready before the next call.
const pause = 25 * time.Millisecond

// pacedTable measures single calls with pauses between them: the latency that one meets
// who calls now and then.
func (l *lab) pacedTable() (table, error) {
	t := table{ID: "paced", Title: "Latency of a call now and then, the trivial child", Reference: clients.Cupule, Note: notePaced}
	var list []measure.Contestant
	var all crew
	for _, name := range nowThen {
		p, err := l.client(name, l.bin(childRaw), 0)
		if err != nil {
			return t, errors.Join(fmt.Errorf("%s: %w", name, err), all.Close())
		}
		all = append(all, p)
		list = append(list, calling(name, p, pause))
	}
	plan := l.plan
	plan.Sample, plan.Least = 0, 10
	load := measure.Load{Callers: 1, Size: clients.EchoSize}
	results, err := measure.Rounds(list, load, plan)
	t.Columns = []column{{Label: callersLabel(1), Load: load, Results: results}}
	return t, errors.Join(err, all.Close())
}
