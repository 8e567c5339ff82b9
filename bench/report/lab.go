package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cupule/cupule/bench/internal/measure"
	"github.com/cupule/cupule/bench/internal/worker"
)

// Programs that are built for a run.
const (
	childRaw   = "child-raw"
	childSDK   = "child-gosdk"
	contestant = "contestant"
)

// lab holds what contestants run with. It starts them and ends them.
type lab struct {
	ctx     context.Context // of the run, which a signal ends
	dir     string
	short   bool
	plan    measure.Plan
	sockets int
}

// planned says how long to measure.
func planned(short bool) measure.Plan {
	if short {
		return measure.Plan{Rounds: 3, Sample: 25 * time.Millisecond}
	}
	return measure.Plan{Rounds: 21, Sample: 80 * time.Millisecond}
}

// patience is how long an interrupted build may take to end.
const patience = 10 * time.Second

// modulePath is the module that the programs are of.
const modulePath = "github.com/cupule/cupule/bench"

// atHome reports whether this folder is the module's own, lest another's programs be built.
func atHome(ctx context.Context) error {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Path}} {{.Dir}}")
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	found, _ := list.Output() // what is wrong with it, the next line says
	for line := range strings.Lines(string(found)) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		if path == modulePath && sameFolder(dir, here) {
			return nil
		}
	}
	return fmt.Errorf("the report builds the programs of the module %s: run it in that module's folder, bench, and not in %s", modulePath, here)
}

func sameFolder(a, b string) bool {
	left, err := os.Stat(a)
	if err != nil {
		return false
	}
	right, err := os.Stat(b)
	return err == nil && os.SameFile(left, right)
}

// newLab builds the programs.
func newLab(ctx context.Context, short bool) (*lab, error) {
	if err := atHome(ctx); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", dir+string(filepath.Separator), "./cmd/...")
	build.Stderr = os.Stderr
	build.Cancel = func() error { return build.Process.Signal(os.Interrupt) } // it ends compilers
	build.WaitDelay = patience
	build.Env = append(os.Environ(), "GOTMPDIR="+dir) // what it leaves when interrupted goes with the rest
	if err := build.Run(); err != nil {
		return nil, errors.Join(fmt.Errorf("building the contestants: %w", err), os.RemoveAll(dir))
	}
	return &lab{ctx: ctx, dir: dir, short: short, plan: planned(short)}, nil
}

func (l *lab) close() { _ = os.RemoveAll(l.dir) }

func (l *lab) bin(name string) string { return filepath.Join(l.dir, name) }

// crew are the processes of a table, which end together.
type crew []interface{ Close() error }

func (c crew) Close() error {
	var all []error
	for _, member := range c {
		all = append(all, member.Close())
	}
	return errors.Join(all...)
}

// serve starts a server at an address of its own.
func (l *lab) serve(name string, http bool, child string) (*worker.Process, string, error) {
	address, err := l.address(http)
	if err != nil {
		return nil, "", err
	}
	args := []string{"serve", name, address}
	if child != "" {
		args = append(args, child)
	}
	p, err := worker.Start(l.bin(contestant), args...)
	return p, address, err
}

// address returns a new path of a unix socket, or a port that is free now.
func (l *lab) address(http bool) (string, error) {
	if !http {
		l.sockets++
		return filepath.Join(l.dir, "s"+strconv.Itoa(l.sockets)), nil
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return free.Addr().String(), free.Close()
}

// client starts an MCP client for a child or URL.
func (l *lab) client(name, at string, size int) (*worker.Process, error) {
	return worker.Start(l.bin(contestant), "call", name, at, strconv.Itoa(size))
}

// driver makes the calls of a load on a server that runs elsewhere.
type driver interface {
	Run(measure.Load) (time.Duration, error)
	Close() error
}

// watched makes a contestant of a server and what drives it. Its allocations are the server's.
func watched(name string, server *worker.Process, d driver) measure.Contestant {
	return measure.Contestant{Name: name, Run: func(load measure.Load) (measure.Sample, error) {
		before, err := server.Do(worker.Order{})
		if err != nil {
			return measure.Sample{}, err
		}
		took, err := d.Run(load)
		if err != nil {
			return measure.Sample{}, err
		}
		after, err := server.Do(worker.Order{})
		n := float64(load.Calls)
		return measure.Sample{
			PerCall: float64(took) / n, Peak: after.Peak,
			Allocs: float64(after.Mallocs-before.Mallocs) / n,
			Bytes:  float64(after.Bytes-before.Bytes) / n,
		}, err
	}}
}
