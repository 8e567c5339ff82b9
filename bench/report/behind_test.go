package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cupule/cupule/bench/internal/clients"
	"github.com/cupule/cupule/bench/internal/measure"
	"github.com/cupule/cupule/bench/internal/servers"
)

var everything = slices.Concat(inTime, inMemory)

// used is a result of a microsecond with these figures.
func used(name string, allocs, bytes float64, peak int64) measure.Result {
	return measure.Result{Name: name, Samples: []measure.Sample{{PerCall: 1e3, Allocs: allocs, Bytes: bytes, Peak: peak}}}
}

func TestBehindComparesEveryRowOfCupule(t *testing.T) {
	got := behind([]table{small()}, everything)
	want := []lags{{Title: "Echo", Lines: []lag{{
		Row: servers.Cupule, Others: []string{servers.Floor}, Reasons: []string{"limits and authority"},
		Parts: []part{{Quantity: quantityTime, Of: 2, Excesses: []excess{{Label: "1 caller", Text: "1.20x", Ratio: 1.2}}}},
	}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	slow := small()
	slow.Columns[0].Results[2] = result(servers.CupuleLength, 15*time.Microsecond)
	if lines := behind([]table{slow}, everything)[0].Lines; len(lines) != 2 || lines[1].Row != servers.CupuleLength {
		t.Errorf("another row of Cupule's is not compared: %+v", lines)
	}
}

func TestBehindInEveryQuantity(t *testing.T) {
	for name, test := range map[string]struct {
		mine, theirs measure.Result
		want         string // one part; empty for none
	}{
		"level":                {used("cupule", 9, 900, 30<<20), used("x", 9, 900, 30<<20), ""},
		"allocations":          {used("cupule", 12, 9, 0), used("x", 9, 9, 0), "allocations 1.33x"},
		"half an allocation":   {used("cupule", 9.4, 9, 0), used("x", 9, 9, 0), ""},
		"allocations to none":  {used("cupule", 2, 0, 0), used("x", 0, 0, 0), "allocations 2.0 instead of none"},
		"bytes":                {used("cupule", 1, 4096, 0), used("x", 1, 1024, 0), "bytes allocated 4.00x"},
		"hundreds of times":    {used("cupule", 1, 102400, 0), used("x", 1, 512, 0), "bytes allocated 200x"},
		"nearly nothing":       {used("cupule", 1, 102400, 0), used("x", 1, 20, 0), "bytes allocated 100 KiB instead of 20 B"},
		"a few bytes":          {used("cupule", 1, 60, 0), used("x", 1, 40, 0), ""},
		"peak":                 {used("cupule", 1, 1, 40<<20), used("x", 1, 1, 20<<20), "peak memory 2.00x"},
		"a page more":          {used("cupule", 1, 1, 21<<20), used("x", 1, 1, 20<<20), ""},
		"an unknown peak":      {used("cupule", 1, 1, 40<<20), used("x", 1, 1, 0), ""},
		"unknown allocations":  {used("cupule", 9, 900, 0), used("x", -1, -1, 0), ""},
		"own figures unknown":  {used("cupule", -1, -1, 0), used("x", 1, 1, 1<<20), ""},
		"ahead in all of them": {used("cupule", 1, 100, 20<<20), used("x", 9, 900, 90<<20), ""},
	} {
		tables := []table{{ID: "t", Columns: []column{{Label: "1 caller", Results: []measure.Result{test.mine, test.theirs}}}}}
		var parts []string
		for _, l := range behind(tables, everything) {
			parts = append(parts, l.Lines[0].What())
		}
		if got := strings.Join(parts, "; "); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestFiguresOfAllColumnsAreDrawnTogether(t *testing.T) {
	of := table{ID: "t"}
	for i, label := range []string{"1 caller", "8 callers", "64 callers"} {
		of.Columns = append(of.Columns, column{Label: label, Results: []measure.Result{
			used("cupule", float64(20+10*i), float64(2048+i), 0), used("x", 10, 1024, 0),
		}})
	}
	line := func() string { return behind([]table{of}, everything)[0].Lines[0].What() }
	if got, want := line(), "allocations 2.00x to 4.00x; bytes allocated 2.00x"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	of.Columns[1].Results[0] = used("cupule", 10, 1024, 0)
	if got, want := line(), "allocations 2.00x (1 caller), 4.00x (64 callers); bytes allocated 2.00x (1 caller), 2.00x (64 callers)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func took(name string, times ...float64) measure.Result {
	r := measure.Result{Name: name}
	for _, us := range times {
		r.Samples = append(r.Samples, measure.Sample{PerCall: us * 1e3, Allocs: -1, Bytes: -1})
	}
	return r
}

func TestTimesWithinTheSpreadAreMarked(t *testing.T) {
	for name, test := range map[string]struct {
		mine, theirs measure.Result
		want         string
		explained    bool // wants a reason
	}{
		"apart":    {took("cupule", 12, 12, 13, 13), took("x", 10, 10, 11, 11), "time 1.19x", true},
		"overlaps": {took("cupule", 9, 12, 12, 14), took("x", 8, 10, 10, 13), "time 1.20x (within noise)", false},
		"few":      {took("cupule", 12, 12), took("x", 10, 14, 8), "time 1.20x (within noise)", false},
		"few, all": {took("cupule", 12, 12), took("x", 10, 11, 8), "time 1.20x", true},
	} {
		got := slower([]table{{ID: "t", Columns: []column{{Label: "1 caller", Results: []measure.Result{test.mine, test.theirs}}}}})
		if len(got) != 1 || got[0].Lines[0].What() != test.want || unexplained(got) != test.explained {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestNoiseInSomeColumns(t *testing.T) {
	clear := []measure.Result{took("cupule", 12, 12, 13, 13), took("x", 10, 10, 11, 11)}
	unclear := []measure.Result{took("cupule", 9, 12, 12, 14), took("x", 8, 10, 10, 13)}
	ahead := []measure.Result{took("cupule", 5, 5, 5, 5), took("x", 8, 10, 10, 13)}
	for name, test := range map[string]struct {
		columns [][]measure.Result
		want    string
		reason  bool
	}{
		"some of all":  {[][]measure.Result{clear, unclear}, "time 1.19x (a), 1.20x (b, within noise)", true},
		"noise in all": {[][]measure.Result{unclear, unclear}, "time 1.20x (within noise)", false},
		"noise in one": {[][]measure.Result{ahead, unclear}, "time 1.20x (b, within noise)", false},
	} {
		of := table{ID: "t"}
		for i, results := range test.columns {
			of.Columns = append(of.Columns, column{Label: string(rune('a' + i)), Results: results})
		}
		got := slower([]table{of})[0].Lines[0]
		if got.What() != test.want || len(got.Reasons) > 0 != test.reason {
			t.Errorf("%s: %q, reasons %q", name, got.What(), got.Reasons)
		}
	}
}

func TestOthersWithEqualReasonsAreFolded(t *testing.T) {
	of := table{ID: "inbound", Title: "Echo", Columns: []column{
		{Label: "1 caller", Results: []measure.Result{used(servers.Cupule, 9, 2048, 0), used(servers.Floor, 9, 1024, 0), used(servers.NetRPC, 6, 512, 0), used(servers.GRPC, 1, 9000, 0)}},
		{Label: "8 callers", Results: []measure.Result{used(servers.Cupule, 9, 2048, 0), used(servers.Floor, 9, 1024, 0), used(servers.NetRPC, 9, 512, 0), used(servers.GRPC, 1, 9000, 0)}},
	}}
	var got []string
	for _, l := range hungrier([]table{of})[0].Lines {
		got = append(got, strings.Join(l.Others, "; ")+": "+l.What()+". "+strings.Join(l.Reasons, "; "))
	}
	want := []string{
		servers.Floor + "; " + servers.NetRPC + ": bytes allocated 2.00x to 4.00x; allocations up to 1.50x. memory of a call",
		servers.GRPC + ": allocations 9.00x. no JSON",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTimeStandsApartFromMemory(t *testing.T) {
	mine, theirs := used("cupule", 12, 4096, 40<<20), used("x", 9, 1024, 20<<20)
	mine.Samples[0].PerCall *= 2
	tables := []table{{ID: "t", Columns: []column{{Label: "1 caller", Results: []measure.Result{mine, theirs}}}}}
	for want, list := range map[string][]lags{
		"time 2.00x": slower(tables),
		"allocations 1.33x; bytes allocated 4.00x; peak memory 2.00x": hungrier(tables),
	} {
		if len(list) != 1 || list[0].Lines[0].What() != want {
			t.Errorf("%+v, want %s", list, want)
		}
	}
	if !unexplained(nil, hungrier(tables)) || unexplained(nil, nil) {
		t.Error("of two lists only the first is looked at")
	}
}

func TestPairsSayWhoIsCompared(t *testing.T) {
	of := table{ID: "engine", Pairs: enginePairs, Columns: []column{{Label: "time", Results: []measure.Result{
		result(rowHandler, 1), result(rowInvoke, 900), result(rowTyped, 3000), result(rowTypedPlain, 2000), result(rowTypedBare, 2),
	}}}}
	var got []string
	for _, l := range behind([]table{of}, everything)[0].Lines {
		got = append(got, l.Row+" / "+l.Others[0])
	}
	want := []string{rowTyped + " / " + rowTypedPlain, rowTyped + " / " + rowTypedBare}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCoversOfAReason(t *testing.T) {
	g := gap{"outbound-http", clients.Cupule, clients.Floor, quantityTime}
	for _, test := range []struct {
		place gap
		want  bool
	}{
		{gap{}, true},
		{gap{table: "outbound-http"}, true},
		{gap{table: "outbound*", other: clients.Floor}, true},
		{gap{row: "cupule*", quantity: quantityTime}, true},
		{gap{table: "outbound"}, false},
		{gap{quantity: quantityPeak}, false},
		{gap{table: "outbound*", other: clients.SDK}, false},
	} {
		if got := test.place.covers(g); got != test.want {
			t.Errorf("%+v: %v", test.place, got)
		}
	}
	if got := reasonFor(gap{"no such table", "cupule", "nobody", quantityTime}); got != notKnown {
		t.Errorf("a gap of nobody's has the reason %q", got)
	}
}

func TestOnlyReasonsThatAreUsedAreTold(t *testing.T) {
	first := reasons()[0].Name
	list := []lags{{Lines: []lag{{Reasons: []string{first}}}}}
	if got := explained(list); len(got) != 1 || got[0].Name != first || unexplained(list) {
		t.Errorf("%+v", got)
	}
	list[0].Lines = append(list[0].Lines, lag{Reasons: []string{notKnown}})
	if !unexplained(list) {
		t.Error("a gap without reason is not told")
	}
	if explained(nil) != nil || unexplained(nil) {
		t.Error("no gap has reasons")
	}
}

// TestEveryReasonIsOfSomethingMeasured finds places that name no row, table or quantity
// that exists, as after a row was named anew.
func TestEveryReasonIsOfSomethingMeasured(t *testing.T) {
	rows, tables := allRows(), allTables()
	quantity := func(pattern string) bool {
		return slices.ContainsFunc(everything, func(q quantity) bool { return like(pattern, q.name) })
	}
	among := func(pattern string, list []string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return like(pattern, s) })
	}
	seen := map[string]bool{}
	for _, r := range reasons() {
		if seen[r.Name] || r.Name == "" || r.Text == "" || r.Name == notKnown || len(r.places) == 0 {
			t.Errorf("%q is no reason of its own", r.Name)
		}
		seen[r.Name] = true
		for _, p := range r.places {
			if !among(p.table, tables) || !among(p.row, rows) || !among(p.other, rows) || !quantity(p.quantity) {
				t.Errorf("%s: nothing is measured at %+v", r.Name, p)
			}
		}
	}
}

func allRows() []string {
	list := []string{rowInvoke, rowSchema, rowTyped, rowHandler, rowTypedPlain, rowTypedBare, direct}
	for _, s := range append(servers.All(), servers.Gateways()...) {
		list = append(list, s.Name)
	}
	for _, c := range clients.All() {
		list = append(list, c.Name)
	}
	return list
}

func allTables() []string {
	l := &lab{}
	list := []string{"engine", "inbound", "payload", "inbound-http", "payload-http", "whole"}
	for _, p := range l.places() {
		list = append(list, "outbound"+p.id, "onecall"+p.id, "paced"+p.id)
	}
	for _, s := range l.larges() {
		list = append(list, "large "+s.label+s.id)
	}
	return list
}

func TestGapsThatWereLookedInto(t *testing.T) {
	for _, test := range []struct {
		gap
		want string
	}{
		{gap{"outbound", clients.CupuleTyped, clients.MCPGo, quantityTime}, "typed results"},
		{gap{"outbound-http", clients.CupuleTyped, clients.MCPGo, quantityTime}, "typed results"},
		{gap{"inbound", servers.CupuleLength, servers.Floor, quantityTime}, "headers of a message"},
		{gap{"inbound", servers.CupuleTyped, servers.Floor, quantityTime}, "typed operations"},
		{gap{"inbound", servers.Cupule, servers.Floor, quantityAllocated}, "memory of a call"},
		{gap{"inbound-http", servers.CupuleHTTP, servers.PlainHTTP, quantityTime}, "a plain handler"},
		{gap{"payload", servers.Cupule, servers.GRPC, quantityTime}, "no JSON"},
		{gap{"payload", servers.Cupule, servers.NetRPC, quantityAllocated}, "copies of a large message"},
		{gap{"whole", servers.CupuleDefault, servers.SDKProxy, quantityTime}, "a session for each call"},
		{gap{"whole", servers.CupuleGateway, direct, quantityTime}, "a gateway in between"},
		{gap{"outbound-gosdk", clients.Cupule, clients.Floor, quantityTime}, "the newer protocol"},
		{gap{"outbound-gosdk", clients.CupulePinned, clients.Floor, quantityTime}, "two processes on two cores"},
		{gap{"outbound-http", clients.Cupule, clients.Floor, quantityTime}, "HTTP connections"},
		{gap{"outbound", clients.Cupule, clients.Floor, quantityAllocated}, "a deadline for each call"},
		{gap{"onecall", clients.CupuleOneCall, clients.FloorOneCall, quantityAllocations}, "memory of a session"},
		{gap{"onecall", clients.CupuleOneCall, clients.FloorBehind, quantityTime}, "starting a child"},
		{gap{"paced-gosdk", clients.CupuleOneCall, clients.FloorOneCall, quantityTime}, "starting a child"},
		{gap{"paced", clients.CupuleWarm, clients.Floor, quantityTime}, "a session for each call"},
		{gap{"large 32 MiB", clients.Cupule, clients.MCPGo, quantityPeak}, "large results in memory"},
		{gap{"engine", rowTyped, rowTypedPlain, quantityTime}, "the typed helper"},
		{gap{"inbound", servers.Cupule, servers.FloorGathered, quantityTime}, "limits and authority"},
		{gap{"large 4 MiB-http", clients.Cupule, clients.Floor, quantityAllocations}, "HTTP connections"},
		{gap{"onecall-http", clients.CupuleOneCall, clients.FloorOneCall, quantityTime}, "asking what a server speaks"},
	} {
		if got := reasonFor(test.gap); got != test.want {
			t.Errorf("%+v: %q, want %q", test.gap, got, test.want)
		}
	}
}
