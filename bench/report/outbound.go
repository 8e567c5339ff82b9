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
	var all []table
	for _, p := range l.places() {
		tables, err := l.placeTables(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.title, err)
		}
		all = append(all, tables...)
	}
	return all, nil
}

// place is an MCP server that clients call: a child, or one over HTTP.
type place struct {
	id     string // follows the names of tables, with a dash
	title  string
	child  string // empty for a server over HTTP
	server string
	names  []string // of the clients in sessions that last
	once   []string // of those in sessions of one call
	paced  []string // of those that call now and then; nil for no such table
	note   string
}

// places returns where clients call; a short run knows the trivial child alone.
func (l *lab) places() []place {
	list := []place{
		{"", trivialChild, childRaw, "", lasting, oneCall, nowThen, noteOutbound},
		{"-gosdk", "the child built on go-sdk", childSDK, "", modern, oneCall, nowThen, noteOutboundSDK},
		{"-http", servers.RawMCP, "", servers.RawMCP, modern, oneCallHTTP, nowThenHTTP, ""},
		{"-http-gosdk", servers.SDKMCP, "", servers.SDKMCP, modern, oneCallHTTP, nil, ""},
	}
	if l.short {
		return list[:1]
	}
	return list
}

// placeTables measures sessions that last, sessions of one call, and calls now and then.
func (l *lab) placeTables(p place) ([]table, error) {
	at, closing, err := l.reach(p)
	if err != nil {
		return nil, err
	}
	last := table{ID: "outbound" + p.id, Title: titleLasting + p.title,
		Reference: clients.Cupule, Note: p.note, Usage: true}
	single := table{ID: "onecall" + p.id, Title: titleOneCall + p.title, Reference: clients.CupuleOneCall, Usage: true}
	paced := table{ID: "paced" + p.id, Title: titlePaced + p.title, Reference: clients.Cupule, Usage: true}
	if p.id == "" {
		single.Note, paced.Note = noteOneCall, notePaced
	}
	tables := []table{last, single}
	err = l.callers(&tables[0], p.names, at, byCallers())
	if err == nil {
		err = l.callers(&tables[1], p.once, at, byCallers()[:1])
	}
	if err == nil && p.paced != nil {
		err = l.now(&paced, p.paced, at)
		tables = append(tables, paced)
	}
	return tables, errors.Join(err, closing())
}

// reach returns the path of a child, or starts a server and returns its URL.
func (l *lab) reach(p place) (at string, closing func() error, err error) {
	if p.child != "" {
		return l.bin(p.child), func() error { return nil }, nil
	}
	server, address, err := l.serve(p.server, true, "")
	if err != nil {
		return "", nil, err
	}
	return "http://" + address + "/mcp", server.Close, nil
}

// The clients of each kind of table.
var (
	lasting = []string{clients.Cupule, clients.CupuleTyped, clients.CupuleShared, clients.Floor, clients.SDK, clients.MCPGo}
	modern  = []string{clients.Cupule, clients.CupuleTyped, clients.CupulePinned, clients.Floor, clients.SDK, clients.MCPGo}
	oneCall = []string{clients.CupuleOneCall, clients.FloorOneCall, clients.FloorBehind, clients.SDKOneCall, clients.MCPGoOneCall}
	nowThen = []string{clients.Cupule, clients.CupuleWarm, clients.CupuleOneCall, clients.Floor, clients.FloorOneCall, clients.FloorBehind}
	// Over HTTP there is no child to start or to end, and so no spare.
	oneCallHTTP = []string{clients.CupuleOneCall, clients.FloorOneCall, clients.SDKOneCall, clients.MCPGoOneCall}
	nowThenHTTP = []string{clients.Cupule, clients.CupuleOneCall, clients.Floor, clients.FloorOneCall}
)

// callers adds a column for each load, in which each client calls the same server.
func (l *lab) callers(t *table, names []string, at string, loads []measure.Load) error {
	list, all, err := l.clients(names, at, 0, 0)
	for _, load := range loads {
		if err != nil {
			break
		}
		c := column{Label: callersLabel(load.Callers), Load: load}
		c.Results, err = measure.Rounds(l.ctx, list, load, l.plan)
		t.Columns = append(t.Columns, c)
	}
	return errors.Join(err, all.Close())
}

// clients starts clients of one server, each in a process of its own.
func (l *lab) clients(names []string, at string, size int, pause time.Duration) ([]measure.Contestant, crew, error) {
	var list []measure.Contestant
	var all crew
	for _, name := range names {
		p, err := l.client(name, at, size)
		if err != nil {
			return nil, all, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, p)
		list = append(list, calling(name, p, pause))
	}
	return list, all, nil
}

// calling makes a contestant of a client that runs elsewhere.
func calling(name string, p *worker.Process, pause time.Duration) measure.Contestant {
	return measure.Contestant{Name: name, Run: func(load measure.Load) (measure.Sample, error) { return p.Run(load, pause) }}
}

// pause lets a warm spare get ready before the next call.
const pause = 25 * time.Millisecond

// now measures single calls with pauses between them: the latency that one meets who calls
// now and then.
func (l *lab) now(t *table, names []string, at string) error {
	list, all, err := l.clients(names, at, 0, pause)
	if err != nil {
		return errors.Join(err, all.Close())
	}
	plan := l.plan
	plan.Sample, plan.Least = 0, 6
	c := column{Label: callersLabel(1), Load: measure.Load{Callers: 1, Size: clients.EchoSize}}
	c.Results, err = measure.Rounds(l.ctx, list, c.Load, plan)
	t.Columns = []column{c}
	return errors.Join(err, all.Close())
}
