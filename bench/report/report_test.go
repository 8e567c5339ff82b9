package main

import (
	"encoding/xml"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cupule/cupule/bench/internal/clients"
	"github.com/cupule/cupule/bench/internal/measure"
	"github.com/cupule/cupule/bench/internal/servers"
)

func result(name string, perCall time.Duration) measure.Result {
	return measure.Result{Name: name, Samples: []measure.Sample{{PerCall: float64(perCall), Allocs: 3, Bytes: 2048, Peak: 5 << 20}}}
}

// small is a table of two contestants and two columns.
func small() table {
	return table{
		ID: "inbound", Title: "Echo", Reference: servers.Cupule, Note: "A note.",
		Columns: []column{
			{Label: "1 caller", Load: measure.Load{Callers: 1}, Metrics: []metric{allocations, allocated}, Results: []measure.Result{
				result(servers.Cupule, 12*time.Microsecond), result(servers.Floor, 10*time.Microsecond), result(servers.CupuleLength, time.Microsecond),
			}},
			{Label: "8 callers", Load: measure.Load{Callers: 8}, Results: []measure.Result{
				result(servers.Cupule, 8*time.Microsecond), result(servers.Floor, 9*time.Microsecond),
			}},
		},
	}
}

func TestMarkdown(t *testing.T) {
	want := `|  | 1 caller | allocations | allocated | 8 callers |
| --- | ---: | ---: | ---: | ---: |
| cupule | 12 us (1.00x) | 3.0 | 2 KiB | 8 us (1.00x) |
| hand-written loop | 10 us (0.83x) | 3.0 | 2 KiB | 9 us (1.12x) |
| cupule, Content-Length | 1 us (0.08x) | 3.0 | 2 KiB |  |
`
	if diff := cmp.Diff(want, markdown(small())); diff != "" {
		t.Error(diff)
	}
}

// verdictOf returns the verdict whose text contains a part.
func verdictOf(t *testing.T, list []verdict, part string) verdict {
	t.Helper()
	for _, v := range list {
		if strings.Contains(v.Text, part) {
			return v
		}
	}
	t.Fatalf("no verdict on %s in %v", part, list)
	return verdict{}
}

func TestJudge(t *testing.T) {
	for _, test := range []struct {
		name   string
		cupule time.Duration
		short  bool
		holds  bool
	}{
		{"within the bar", 11 * time.Microsecond, false, true},
		{"beyond the bar", 12 * time.Microsecond, false, false},
		{"beyond the bar, in short", 12 * time.Microsecond, true, true},
		{"twice off, in short", 23 * time.Microsecond, true, false},
	} {
		tables := []table{small()}
		tables[0].Columns[0].Results[0] = result(servers.Cupule, test.cupule)
		list := judge(tables, test.short)
		if v := verdictOf(t, list, "1 caller: cupule to hand-written loop"); v.Holds != test.holds || !v.Checked {
			t.Errorf("%s: %+v", test.name, v)
		}
	}
}

func TestJudgeMissesAPeer(t *testing.T) {
	list := judge([]table{small()}, false)
	if v := verdictOf(t, list, "to go-ethereum/rpc"); v.Holds {
		t.Errorf("a peer that was not measured is beaten: %+v", v)
	}
	for _, v := range list {
		if strings.Contains(v.Text, "outbound") {
			t.Errorf("a table that was not measured is judged: %+v", v)
		}
	}
}

func TestCountsHaveNoSlack(t *testing.T) {
	for _, short := range []bool{false, true} {
		for bytes, holds := range map[float64]bool{2.9: true, 3.1: false} {
			r := result(clients.Cupule, time.Millisecond)
			r.Samples[0].Bytes = bytes * (256 << 10)
			c := column{Label: "256 KiB", Load: measure.Load{Size: 256 << 10}, Results: []measure.Result{r, result(clients.SDK, time.Second)}}
			list := judge([]table{{ID: "large 256 KiB", Columns: []column{c}}}, short)
			if v := verdictOf(t, list, "at most 3 times the size"); v.Holds != holds {
				t.Errorf("%v times the size, short %v: %+v", bytes, short, v)
			}
		}
	}
}

func TestAllocationsAreBarred(t *testing.T) {
	for part, test := range map[string]struct {
		table, column, row string
		most               float64
	}{
		"allocations of " + rowInvoke:                               {"engine", "time", rowInvoke, 2},
		titleInbound + ", 1 caller: allocations of ":                {"inbound", "1 caller", servers.Cupule, 13},
		titleLasting + trivialChild + ", 1 caller: allocations of ": {"outbound", "1 caller", clients.Cupule, 22},
	} {
		for allocs, holds := range map[float64]bool{test.most: true, test.most + 0.4: true, test.most + 1: false} {
			r := used(test.row, allocs, 100, 0)
			list := judge([]table{{ID: test.table, Columns: []column{{Label: test.column, Results: []measure.Result{r}}}}}, true)
			if v := verdictOf(t, list, part); v.Holds != holds || !v.Checked || v.Ratio || !v.Beyond {
				t.Errorf("%v allocations: %+v", allocs, v)
			}
		}
	}
}

func TestRatiosTellTheirNoise(t *testing.T) {
	for name, test := range map[string]struct {
		mine, theirs measure.Result
		noise        bool
		between, as  string
	}{
		"clearly within":  {took(servers.Cupule, 8, 8, 9, 9), took(servers.Floor, 10, 10, 10, 10), false, "0.80x to 0.90x", "holds"},
		"within":          {took(servers.Cupule, 8, 9, 9, 12), took(servers.Floor, 10, 10, 10, 10), true, "0.90x to 1.20x", "holds, within noise"},
		"beyond":          {took(servers.Cupule, 8, 10, 13, 14), took(servers.Floor, 10, 10, 10, 10), true, "1.00x to 1.40x", "**does not hold, within noise**"},
		"clearly beyond":  {took(servers.Cupule, 13, 13, 14, 14), took(servers.Floor, 10, 10, 10, 10), false, "1.30x to 1.40x", "**does not hold**"},
		"too few to tell": {took(servers.Cupule, 8, 9, 12), took(servers.Floor, 10, 10, 10), false, "", "holds"},
	} {
		tables := []table{{ID: "inbound", Columns: []column{{Label: "1 caller", Results: []measure.Result{test.mine, test.theirs}}}}}
		v := verdictOf(t, judge(tables, false), "cupule to hand-written loop")
		if v.Noise != test.noise || v.Range != test.between || mark(v) != test.as {
			t.Errorf("%s: %+v, %s", name, v, mark(v))
		}
	}
	if got := mark(verdict{Holds: true, Again: true}); got != "holds, measured again" {
		t.Error(got)
	}
}

func TestDoubt(t *testing.T) {
	first := []verdict{
		{Group: "a", Text: "ratio that fails once", Ratio: true}, {Group: "a", Text: "ratio that fails twice", Ratio: true},
		{Group: "b", Text: "count that fails"}, {Group: "c", Text: "ratio that holds", Ratio: true, Holds: true},
	}
	if diff := cmp.Diff([]string{"a"}, doubtful(first)); diff != "" {
		t.Error(diff)
	}
	again := []verdict{
		{Group: "a", Text: "ratio that fails once", Ratio: true, Holds: true}, {Group: "a", Text: "ratio that fails twice", Ratio: true},
		{Group: "b", Text: "count that fails", Holds: true}, {Group: "c", Text: "ratio that holds", Ratio: true},
	}
	var held, repeated []bool
	for _, v := range best(first, again) {
		held, repeated = append(held, v.Holds), append(repeated, v.Again)
	}
	if diff := cmp.Diff([]bool{true, true, false, false}, repeated); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]bool{true, false, false, true}, held); diff != "" {
		t.Error(diff)
	}
	if first[0].Holds {
		t.Error("the first verdicts were changed")
	}
}

func TestTimesAreOnlyReported(t *testing.T) {
	c := column{Label: "time", Results: []measure.Result{
		result(rowDecide, time.Second), result(rowHandler, 0), result(rowInvoke, time.Second),
	}}
	list := judge([]table{{ID: "engine", Columns: []column{c}}}, false)
	for _, part := range []string{"an allowing decision", "Invoke without schema"} {
		for _, v := range list {
			if strings.HasPrefix(v.Text, titleEngine+": "+part) && v.Checked && !strings.HasSuffix(v.Text, "allocates nothing") {
				t.Errorf("a time is checked: %+v", v)
			}
		}
	}
	if v := verdictOf(t, list, "Invoke without schema"); v.Holds || v.Checked {
		t.Errorf("%+v", v)
	}
}

func TestEveryBarIsOfSomethingMeasured(t *testing.T) {
	known := map[string]bool{rowDecide: true, rowInvoke: true}
	for _, s := range servers.All() {
		known[s.Name] = true
	}
	for _, c := range clients.All() {
		known[c.Name] = true
	}
	for _, b := range bars() {
		if !known[b.of] || b.beside != "" && !known[b.beside] {
			t.Errorf("%s: nobody measures it", b.text)
		}
	}
}

func checkSVG(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var svg struct{ XMLName xml.Name }
	if err := xml.Unmarshal(text, &svg); err != nil || svg.XMLName.Local != "svg" {
		t.Errorf("%v, %v", svg.XMLName, err)
	}
	if !strings.Contains(string(text), servers.Floor) {
		t.Error("the plot names no contestant")
	}
}

func TestUnits(t *testing.T) {
	for ns, want := range map[float64]string{0.5: "0.5 ns", 999: "999 ns", 1500: "1.5 us", 2.5e6: "2.5 ms", 3e9: "3 s"} {
		if got := duration(ns); got != want {
			t.Errorf("%v ns: %s, want %s", ns, got, want)
		}
	}
	for n, want := range map[float64]string{-1: "", 12: "12 B", 1536: "1.5 KiB", 999 << 10: "999 KiB", 1020 << 10: "0.996 MiB", 3 << 20: "3 MiB", 2 << 30: "2 GiB"} {
		if got := size(n); got != want {
			t.Errorf("%v bytes: %s, want %s", n, got, want)
		}
	}
}
