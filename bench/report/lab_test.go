package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cupule/cupule/bench/internal/measure"
)

// TestGroups runs every group with as little as possible, so that each contestant starts,
// answers and ends.
func TestGroups(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds all contestants")
	}
	t.Chdir("..")
	l, err := newLab(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	l.plan = measure.Plan{Rounds: 1}
	for _, g := range groups() {
		tables, err := g.run(l)
		if err != nil {
			t.Fatalf("%s: %v", g.name, err)
		}
		for _, table := range tables {
			checkTable(t, table)
		}
	}
}

// checkTable wants a figure in every cell, but for contestants that have no say in a metric.
func checkTable(t *testing.T, table table) {
	t.Helper()
	if len(table.Columns) == 0 || len(table.names()) < 2 {
		t.Errorf("%s: nothing was measured", table.ID)
	}
	for _, name := range table.names() {
		row := table.row(name)
		if len(row) != len(table.heads()) {
			t.Errorf("%s: %d cells under %d heads", name, len(row), len(table.heads()))
		}
		for _, c := range table.Columns {
			if r, ok := c.result(name); !ok || r.Median() <= 0 {
				t.Errorf("%s, %s, %s: %v", table.ID, c.Label, name, r.Samples)
			}
		}
	}
	if table.Reference != "" && !strings.Contains(markdown(table), "(1.00x)") {
		t.Errorf("%s: the reference %s is not among the contestants", table.ID, table.Reference)
	}
}

func TestOnlyOwnProgramsAreBuilt(t *testing.T) {
	other, empty := t.TempDir(), t.TempDir()
	program := filepath.Join(other, "cmd", "contestant")
	if err := os.MkdirAll(program, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		filepath.Join(other, "go.mod"): "module other.example\n", filepath.Join(program, "main.go"): "package main\n\nfunc main() {}\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{other, empty, here} { // the last one is a folder of the module, and not its root
		t.Chdir(dir)
		if l, err := newLab(t.Context(), true); err == nil || !strings.Contains(err.Error(), "the report builds the programs of the module "+modulePath) {
			t.Errorf("%s: %v, %v", dir, l, err)
		}
	}
}

func TestADeadChildIsNamedSo(t *testing.T) {
	for _, cause := range []error{io.EOF, syscall.EPIPE} {
		c := unwatched(direct, failing{cause})
		if _, err := c.Run(measure.Load{Calls: 1}); !errors.Is(err, cause) || !strings.Contains(err.Error(), "the child has ended") {
			t.Errorf("%v: %v", cause, err)
		}
	}
}

// failing is a driver whose every call fails.
type failing struct{ err error }

func (f failing) Run(measure.Load) (time.Duration, error) { return 0, f.err }

func (failing) Close() error { return nil }

func TestPlans(t *testing.T) {
	if short, full := planned(true), planned(false); short.Rounds >= full.Rounds || short.Sample >= full.Sample {
		t.Errorf("short %+v, full %+v", short, full)
	}
}

func TestPlansOfLargePayloads(t *testing.T) {
	l := &lab{plan: planned(false)}
	small, large := l.planFor(byCallers()[0]), l.planFor(measure.Load{Callers: 1, Size: 20_000})
	if small != l.plan || large.Rounds >= small.Rounds || large.Sample != small.Sample {
		t.Errorf("small %+v, large %+v", small, large)
	}
}
