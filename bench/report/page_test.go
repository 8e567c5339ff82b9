package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cupule/cupule/bench/internal/measure"
)

// reported is a report of these tables.
func reportOf(s settings, tables ...table) report {
	return report{settings: s, Tables: tables, Verdicts: judge(tables, false), Unseen: unseen(tables), Machine: machine(), Took: time.Minute}
}

// published returns the page, and whether a plot lies beside it.
func published(t *testing.T, r report) (page string, plot bool) {
	t.Helper()
	folder := t.TempDir()
	if err := r.publish(folder); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, plotFile)); err == nil {
		checkSVG(t, filepath.Join(folder, plotFile))
		plot = true
	}
	return string(text), plot
}

func TestPage(t *testing.T) {
	inbound := small()
	inbound.Group = "inbound"
	page, plot := published(t, reportOf(settings{}, inbound))
	if !plot {
		t.Error("no plot was drawn")
	}
	for _, want := range []string{
		"allocations of cupule (beyond the contract) | 3.00 |  | at most 13 | holds |", "# Performance", "Written by `cd bench && go run ./report` in 1m0s", "A note.", "12 us (1.00x)", "**does not hold**", "(" + plotFile + ")",
		"- cupule beside hand-written loop: time 1.20x (1 caller). *", "- go1.", "gonum.org/v1/plot v", "`contestant serve NAME ADDRESS`",
		"`go run ./report -only inbound`", "`engine`, `inbound`, `outbound`, `large`, `whole`",
		"taken at Cupule " + profiled,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "This page is of a part") {
		t.Error("a whole run is called partial")
	}
}

func TestPartialPage(t *testing.T) {
	quick := table{ID: "engine", Title: "Engine", Group: "engine", Columns: []column{{Label: "time", Results: []measure.Result{result(rowDecide, 9)}}}}
	page, plot := published(t, reportOf(settings{only: "engine", short: true, docs: "x"}, quick))
	if plot || strings.Contains(page, plotFile) {
		t.Error("a plot is linked that was not drawn")
	}
	for _, want := range []string{
		"Written by `cd bench && go run ./report -only engine -short -docs x`", "it holds the group engine alone, and it was measured in short",
		"This run did not look at ", "Echo of 200 bytes over HTTP, 1 caller: cupule over HTTP to net/http, encoding/json;", "Nothing of what this run measured.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	for _, none := range []string{"spans", "middle half of single rounds", "measured again"} {
		if strings.Contains(page, none) {
			t.Errorf("of one sample the page says %q", none)
		}
	}
}

func TestPageOfBarsMeasuredAgain(t *testing.T) {
	r := reportOf(settings{short: true}, small())
	r.Verdicts[len(r.Verdicts)-1].Again = true
	if page, _ := published(t, r); !strings.Contains(page, "figure is of that attempt") || !strings.Contains(page, ", measured again") {
		t.Error(page)
	}
}

func TestPageWithoutBars(t *testing.T) {
	page, _ := published(t, reportOf(settings{only: "whole"}, table{ID: "odd", Title: "Whole", Columns: []column{{Label: "1 caller", Results: []measure.Result{result(direct, 9000)}}}}))
	if !strings.Contains(page, "No bar is of what this run measured.") {
		t.Error(page)
	}
}

func TestPageWithoutReason(t *testing.T) {
	odd := small()
	odd.ID = "a table that no reason knows"
	odd.Columns[0].Results[1].Name = "nobody"
	if page, _ := published(t, reportOf(settings{}, odd)); !strings.Contains(page, "*"+notKnown+"*") || !strings.Contains(page, "nobody has looked into these") {
		t.Error(page)
	}
}

func TestPrintedPageLinksNoPlot(t *testing.T) {
	var out strings.Builder
	if err := reportOf(settings{short: true}, small()).print(&out); err != nil || strings.Contains(out.String(), plotFile) {
		t.Errorf("%v: %s", err, &out)
	}
}

func TestUsage(t *testing.T) {
	of := small()
	of.Usage = true
	of.Columns[1].Results = append(of.Columns[1].Results, used("silent", -1, -1, 0))
	_, got, found := strings.Cut(markdown(of), "end of the table:\n\n")
	want := `|  | 1 caller | 8 callers | peak memory |
| --- | ---: | ---: | ---: |
| cupule | 3.0, 2 KiB | 3.0, 2 KiB | 5 MiB |
| hand-written loop | 3.0, 2 KiB | 3.0, 2 KiB | 5 MiB |
| cupule, Content-Length | 3.0, 2 KiB |  | 5 MiB |
`
	if diff := cmp.Diff(want, got); diff != "" || !found {
		t.Error(diff)
	}
}

func TestTell(t *testing.T) {
	good, bad := verdict{Text: "good", Checked: true, Holds: true}, verdict{Text: "bad", Got: "3x", Want: "at most 2x", Checked: true}
	const badLine, unseenLine = "DOES NOT HOLD: bad: 3x, want at most 2x\n", "NOT LOOKED AT: far\n"
	for name, test := range map[string]struct {
		report
		out    string
		failed bool
	}{
		"a bar fails":                    {report{settings: settings{check: true}, Verdicts: []verdict{good, bad, {Text: "slow here"}}}, badLine, true},
		"a bar fails by a little":        {report{settings: settings{check: true}, Verdicts: []verdict{{Text: "bad", Got: "3x", Want: "at most 2x", Checked: true, Noise: true}}}, strings.TrimSpace(badLine) + ", within noise\n", true},
		"a bar fails that isn't checked": {report{Verdicts: []verdict{bad}, Unseen: []string{"far"}}, badLine, false},
		"all hold":                       {report{settings: settings{check: true}, Verdicts: []verdict{good}}, "", false},
		"a part of the bars":             {report{settings: settings{check: true, only: "whole"}, Unseen: []string{"far"}}, unseenLine, false},
		"a whole run misses a bar":       {report{settings: settings{check: true}, Verdicts: []verdict{good}, Unseen: []string{"far"}}, unseenLine, true},
	} {
		var out strings.Builder
		if err := test.tell(&out); errors.Is(err, errBars) != test.failed || out.String() != test.out {
			t.Errorf("%s: %v, %q", name, err, &out)
		}
	}
}

// TestThresholdsInWords finds words of the page that a constant has left behind.
func TestThresholdsInWords(t *testing.T) {
	percent := fmt.Sprintf("over %.0f%%", 100*(1-noise))
	for _, test := range []struct{ text, want string }{
		{pageText, percent + " longer than another"},
		{pageText, percent + " slower than another"},
		{pageText, fmt.Sprintf("%s and over half an allocation, %v bytes or %s more", percent, inMemory[1].least, size(leastPeak))},
		{pageText, "ratios be twice off"},
		{notePaced, fmt.Sprintf("a pause of %d ms", pause.Milliseconds())},
	} {
		if !strings.Contains(test.text, test.want) {
			t.Errorf("%q is not said", test.want)
		}
	}
	if inMemory[0].least != 0.5 || slack != 2 || measure.Enough != 4 {
		t.Error("half an allocation, twice off, or under four samples is no longer true")
	}
}
