package main

import (
	"errors"
	"fmt"
	"net"

	"github.com/cupule/cupule/bench/internal/clients"
	"github.com/cupule/cupule/bench/internal/echo"
	"github.com/cupule/cupule/bench/internal/load"
	"github.com/cupule/cupule/bench/internal/measure"
	"github.com/cupule/cupule/bench/internal/servers"
	"github.com/cupule/cupule/bench/internal/worker"
)

// manyCallers are the numbers of callers that call at once.
var manyCallers = []int{1, 8, 64}

func byCallers() []measure.Load {
	var list []measure.Load
	for _, n := range manyCallers {
		list = append(list, measure.Load{Callers: n, Size: clients.EchoSize})
	}
	return list
}

func callersLabel(n int) string {
	if n == 1 {
		return "1 caller"
	}
	return fmt.Sprintf("%d callers", n)
}

// payload is a larger echo.
type payload struct {
	label   string
	size    int
	callers int
}

func (p payload) name() string { return p.label + ", " + callersLabel(p.callers) }

// payloads are what all servers echo beside the 200 bytes; a short run knows one caller alone.
func (l *lab) payloads() []payload {
	list := []payload{{"20 KB", 20_000, 1}, {"1 MB", 1_000_000, 1}}
	if l.short {
		return list
	}
	return []payload{list[0], {"20 KB", 20_000, 8}, {"20 KB", 20_000, 64}, list[1], {"1 MB", 1_000_000, 4}}
}

func inboundTables(l *lab) ([]table, error) {
	streams, webs, all, err := l.hosts()
	if err != nil {
		return nil, errors.Join(err, all.Close())
	}
	tables := []table{
		{ID: "inbound", Title: titleInbound, Reference: servers.Cupule, Note: noteInbound, Usage: true},
		{ID: "payload", Title: "Larger echoes over a unix socket", Reference: servers.Cupule, Note: notePayload, Usage: true},
		{ID: "inbound-http", Title: titleInboundHTTP, Reference: servers.CupuleHTTP, Note: noteInboundHTTP, Usage: true},
		{ID: "payload-http", Title: "Larger echoes over HTTP", Reference: servers.CupuleHTTP, Note: notePayloadHTTP, Usage: true},
	}
	for i, fill := range []func(*table) error{
		func(t *table) error { return l.contest(t, streams, byCallers()) },
		func(t *table) error { return l.larger(t, streams) },
		func(t *table) error { return l.contest(t, webs, byCallers()) },
		func(t *table) error { return l.larger(t, webs) },
	} {
		if err := fill(&tables[i]); err != nil {
			return nil, errors.Join(err, all.Close())
		}
	}
	return tables, all.Close()
}

// hosts starts every server, and tells those on unix sockets from those over HTTP.
func (l *lab) hosts() (streams, webs []hosted, all crew, err error) {
	for _, s := range servers.All() {
		p, address, err := l.serve(s.Name, s.HTTP, "")
		if err != nil {
			return nil, nil, all, err
		}
		all = append(all, p)
		if h := (hosted{s, p, address}); s.HTTP {
			webs = append(webs, h)
		} else {
			streams = append(streams, h)
		}
	}
	return streams, webs, all, nil
}

// larger adds a column to a table for each payload.
func (l *lab) larger(t *table, field []hosted) error {
	for _, p := range l.payloads() {
		if err := l.contest(t, field, []measure.Load{{Callers: p.callers, Size: p.size}}); err != nil {
			return err
		}
		t.Columns[len(t.Columns)-1].Label = p.name()
	}
	return nil
}

// planFor takes fewer rounds for larger payloads, whose samples are longer and steadier.
func (l *lab) planFor(load measure.Load) measure.Plan {
	plan := l.plan
	if load.Size > clients.EchoSize {
		plan.Rounds = min(plan.Rounds, 11)
	}
	return plan
}

// hosted is a server in a process of its own.
type hosted struct {
	servers.Server
	process *worker.Process
	address string
}

// contest adds a column to a table for each load.
func (l *lab) contest(t *table, field []hosted, loads []measure.Load) error {
	for _, load := range loads {
		var list []measure.Contestant
		var drivers crew
		for _, h := range field {
			d, err := h.drive(load)
			if err != nil {
				return errors.Join(fmt.Errorf("%s: %w", h.Name, err), drivers.Close())
			}
			drivers = append(drivers, d)
			list = append(list, watched(h.Name, h.process, d))
		}
		results, err := measure.Rounds(l.ctx, list, load, l.planFor(load))
		if err = errors.Join(err, drivers.Close()); err != nil {
			return err
		}
		t.Columns = append(t.Columns, column{Label: callersLabel(load.Callers), Load: load, Results: results})
	}
	return nil
}

// drive connects the client that suits a server.
func (h hosted) drive(of measure.Load) (driver, error) {
	text := echo.Text(of.Size)
	switch {
	case h.GRPC:
		return servers.DialGRPC(h.address, text)
	case h.HTTP:
		return load.DialHTTP(h.address, "/rpc", of.Callers, h.Request(text), echo.Result(text))
	}
	conn, err := net.Dial("unix", h.address)
	if err != nil {
		return nil, err
	}
	verify := echo.Result(text)
	if h.Verify != nil {
		verify = h.Verify(text)
	}
	if h.Greets {
		if err := load.Greet(conn); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return load.NewStream(conn, h.Framing, of.Callers, h.Request(text), verify), nil
}
