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

// payloads are larger echoes of one caller.
var payloads = []struct {
	label string
	size  int
}{{"20 KB", 20_000}, {"1 MB", 1_000_000}}

func inboundTables(l *lab) ([]table, error) {
	unix := table{ID: "inbound", Title: "Echo of 200 bytes over a unix socket", Reference: servers.Cupule, Note: noteInbound}
	large := table{ID: "payload", Title: "Larger echoes over a unix socket, 1 caller", Reference: servers.Cupule}
	http := table{ID: "inbound-http", Title: "Echo of 200 bytes over HTTP", Reference: servers.CupuleHTTP, Note: noteInboundHTTP}
	var streams, webs []hosted
	var all crew
	for _, s := range servers.All() {
		p, address, err := l.serve(s.Name, s.HTTP, "")
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
		all = append(all, p)
		if h := (hosted{s, p, address}); s.HTTP {
			webs = append(webs, h)
		} else {
			streams = append(streams, h)
		}
	}
	err := errors.Join(l.contest(&unix, streams, byCallers()), l.contest(&http, webs, byCallers()))
	for _, p := range payloads {
		err = errors.Join(err, l.contest(&large, streams, []measure.Load{{Callers: 1, Size: p.size}}))
		large.Columns[len(large.Columns)-1].Label = p.label
	}
	return []table{unix, large, http}, errors.Join(err, all.Close())
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
		results, err := measure.Rounds(list, load, l.plan)
		if err = errors.Join(err, drivers.Close()); err != nil {
			return err
		}
		c := column{Label: callersLabel(load.Callers), Load: load, Results: results}
		if load.Callers == 1 {
			c.Metrics = []metric{allocations, allocated}
		}
		t.Columns = append(t.Columns, c)
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
