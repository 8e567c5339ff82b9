package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"

	"github.com/cupule/cupule"
	"github.com/cupule/cupule/bench/internal/echo"
	"github.com/cupule/cupule/bench/internal/load"
	"github.com/cupule/cupule/bench/internal/measure"
	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/jsonrpcserver"
	"github.com/cupule/cupule/mcpclient"
	"github.com/cupule/cupule/registry"
)

// Rows of the table of growth.
const (
	rowLookup   = "a call of any of them, Invoke"
	rowCatalog  = "reading through all of Operations, in this process"
	rowDiscover = "rpc.discover, asked over a unix socket"
	rowOpenBare = "start-up, no operation has a schema"
	rowOpen     = "start-up, each operation has a schema"
)

// growth are the numbers of operations.
var growth = []int{10, 1_000, 100_000}

func (l *lab) growthTable() (table, error) {
	t := table{ID: "growth", Title: "The engine's growth with the number of operations", Note: noteGrowth}
	for _, n := range growth {
		if l.short && n > 1_000 {
			continue
		}
		c, err := l.growthColumn(n)
		if err != nil {
			return t, err
		}
		t.Columns = append(t.Columns, c)
	}
	return t, nil
}

func (l *lab) growthColumn(n int) (column, error) {
	of := measure.Load{Callers: 1}
	c := column{Label: fmt.Sprintf("%d operations", n), Load: of, Metrics: []metric{allocations}}
	ops, bare := many(n, true), many(n, false)
	r, err := registry.New(ops, nil)
	if err != nil {
		return c, err
	}
	d, err := l.discoverer(r, n)
	if err != nil {
		return c, err
	}
	plan := l.plan
	if n > 1_000 {
		plan.Rounds, plan.Least = min(plan.Rounds, 5), 1
	}
	c.Results, err = measure.Rounds(l.ctx, []measure.Contestant{
		invoking(rowLookup, r, json.RawMessage(`{"text":"x"}`), shuffled(ops)...),
		measure.InProcess(rowCatalog, 1, func() error { return readThrough(r, n) }),
		measure.InProcess(rowDiscover, 1, d.ask),
		measure.InProcess(rowOpenBare, 1, func() error { return openWith(bare) }),
		measure.InProcess(rowOpen, 1, func() error { return openWith(ops) }),
	}, of, plan)
	return c, errors.Join(err, d.Close())
}

// asked is how many names are asked for in turn at most.
const asked = 1 << 14

// shuffled returns names of operations in a random order, so that no cache knows the next one.
func shuffled(ops []registry.Operation) []string {
	names := make([]string, min(len(ops), asked))
	for i, j := range rand.Perm(len(ops))[:len(names)] {
		names[i] = strings.Clone(ops[j].Name)
	}
	return names
}

// many returns n operations, each with a schema of its own or none.
func many(n int, schemas bool) []registry.Operation {
	list := make([]registry.Operation, n)
	for i := range list {
		list[i] = declared(fmt.Sprintf("bench.n%06d", i))
		if schemas {
			list[i].Params = json.RawMessage(strings.Replace(echoSchema, "{", fmt.Sprintf(`{"title":"parameters %d",`, i), 1))
		}
	}
	return list
}

// readThrough looks at every operation, as one does who lists or filters them.
func readThrough(r *registry.Registry, want int) error {
	found := 0
	for _, op := range r.Operations() {
		if strings.HasPrefix(op.Name, "bench.") && op.Effects.Has(effects.Mutation) {
			found++
		}
	}
	return counted(found, want)
}

func counted(got, want int) error {
	if got != want {
		return fmt.Errorf("%d operations instead of %d", got, want)
	}
	return nil
}

// openWith opens an application with these operations and closes it.
func openWith(ops []registry.Operation) error {
	cfg, err := config.Parse("bench.yaml", []byte("callers:\n  local: {authorize: [mutation]}\n"))
	if err != nil {
		return err
	}
	app, err := cupule.OpenConfig(context.Background(), cfg, &cupule.Options{
		Operations: func(*mcpclient.Client) ([]registry.Operation, error) { return ops, nil },
	})
	if err != nil {
		return err
	}
	return errors.Join(counted(len(app.Registry().Operations()), len(ops)), app.Close())
}

// discoverer is a caller that asks a server in this process what it serves.
type discoverer struct {
	stream *load.Stream
	ended  chan error
}

// discoverer serves a registry on a unix socket and connects to it.
func (l *lab) discoverer(r *registry.Registry, operations int) (*discoverer, error) {
	s, err := jsonrpcserver.New(jsonrpcserver.Backend{Registry: r, Callers: []jsonrpcserver.Caller{
		{Name: jsonrpcserver.LocalCaller, Authority: effects.Authority{Authorized: effects.NewSet(effects.Mutation)}},
	}}, nil)
	if err != nil {
		return nil, err
	}
	client, server, err := l.connected()
	if err != nil {
		return nil, err
	}
	d := &discoverer{ended: make(chan error, 1)}
	go func() {
		d.ended <- s.ServeConn(context.Background(), server, &jsonrpcserver.ConnOptions{Caller: jsonrpcserver.LocalCaller})
	}()
	d.stream = load.NewStream(client, load.Newline, 1, discover, describes(operations))
	return d, nil
}

// connected returns both ends of a connection over a unix socket.
func (l *lab) connected() (client, server net.Conn, err error) {
	address, err := l.address(false)
	if err != nil {
		return nil, nil, err
	}
	listener, err := net.Listen("unix", address)
	if err != nil {
		return nil, nil, err
	}
	defer listener.Close()
	if client, err = net.Dial("unix", address); err != nil {
		return nil, nil, err
	}
	if server, err = listener.Accept(); err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	return client, server, nil
}

func discover(id int) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"rpc.discover"}`, id)
}

// describes wants so many methods, each with its name.
func describes(operations int) echo.Verify {
	return func(reply []byte) error {
		var r struct {
			Result struct{ Methods []struct{ Name string } }
		}
		if err := json.Unmarshal(reply, &r); err != nil {
			return err
		}
		named := 0
		for _, m := range r.Result.Methods {
			if strings.HasPrefix(m.Name, "bench.") {
				named++
			}
		}
		if named != operations {
			return fmt.Errorf("%w: %.200q", counted(named, operations), reply)
		}
		return nil
	}
}

// ask gets the document once.
func (d *discoverer) ask() error {
	_, err := d.stream.Run(measure.Load{Callers: 1, Calls: 1})
	return err
}

// Close ends the connection and waits for the server's side of it.
func (d *discoverer) Close() error { return errors.Join(d.stream.Close(), <-d.ended) }
