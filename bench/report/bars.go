package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cupule/cupule/bench/internal/clients"
	"github.com/cupule/cupule/bench/internal/measure"
	"github.com/cupule/cupule/bench/internal/servers"
)

// bar is what a table must show. What it compares is a ratio of medians of one contest, or
// a count of allocations, and never a time.
type bar struct {
	text   string
	table  string
	column string
	of     string
	// beside is the contestant that of is compared with; empty where a count is bounded.
	beside string
	most   float64
	count  func(measure.Result, measure.Load) float64
	// beyond marks a bar of the project's own, which Cupule wasn't built to reach, but has.
	beyond bool
}

// verdict is what became of a bar.
type verdict struct {
	Group   string
	Text    string
	Got     string
	Want    string
	Holds   bool
	Checked bool   // only reported otherwise
	Ratio   bool   // of times, which noise can spoil
	Range   string // of the ratios of single rounds; empty where these are too few
	Noise   bool   // the bar lies in this range
	Again   bool   // measured again
	Beyond  bool   // of the project's own
}

// slack is how far off a ratio must be for a short run to complain.
const slack = 2

func bars() []bar {
	return slices.Concat(engineBars(), inboundBars(), outboundBars(), largeBars())
}

func engineBars() []bar {
	return []bar{{
		text: titleEngine + ": an allowing decision allocates nothing", table: "engine", column: "time", of: rowDecide,
		most: 0.01, count: allocationsOf,
	}, allocating("engine", titleEngine, "time", rowInvoke, 2)}
}

func inboundBars() []bar {
	var list []bar
	most := map[int]float64{1: 1.1, 8: 1, 64: 1}
	peers := []string{servers.Sourcegraph, servers.Creachadair, servers.Ethereum, servers.NetRPC}
	for _, n := range manyCallers {
		list = append(list, ratio("inbound", titleInbound, callersLabel(n), servers.Cupule, servers.Floor, most[n]))
		for _, peer := range peers {
			list = append(list, ratio("inbound", titleInbound, callersLabel(n), servers.Cupule, peer, 1))
		}
	}
	for _, n := range manyCallers {
		list = append(list, ratio("inbound-http", titleInboundHTTP, callersLabel(n), servers.CupuleHTTP, servers.PlainHTTP, 1).ofOurOwn())
	}
	return append(list, allocating("inbound", titleInbound, callersLabel(1), servers.Cupule, 13))
}

func outboundBars() []bar {
	var list []bar
	lasting := titleLasting + trivialChild
	for _, n := range manyCallers {
		list = append(list,
			ratio("outbound", lasting, callersLabel(n), clients.Cupule, clients.Floor, 1.2),
			ratio("outbound", lasting, callersLabel(n), clients.Cupule, clients.MCPGo, 1))
	}
	return append(list,
		ratio("outbound", lasting, callersLabel(1), clients.Cupule, clients.SDK, 1/2.),
		ratio("outbound", lasting, callersLabel(64), clients.Cupule, clients.SDK, 1/5.),
		ratio("onecall", titleOneCall+trivialChild, callersLabel(1), clients.CupuleOneCall, clients.FloorOneCall, 1.15),
		ratio("onecall", titleOneCall+trivialChild, callersLabel(1), clients.CupuleOneCall, clients.FloorBehind, 1.15).ofOurOwn(),
		ratio("paced", titlePaced+trivialChild, callersLabel(1), clients.CupuleWarm, clients.Cupule, 2),
		allocating("outbound", lasting, callersLabel(1), clients.Cupule, 22))
}

func largeBars() []bar {
	var list []bar
	for _, size := range []string{"256 KiB", "4 MiB"} {
		title := titleLarge(size, trivialChild)
		list = append(list, ratio("large "+size, title, size, clients.Cupule, clients.SDK, 1/8.), bar{
			text: title + ": allocated at most 3 times the size", table: "large " + size, column: size,
			of: clients.Cupule, most: 3, count: allocatedShare,
		})
	}
	return list
}

// ratio is the bar on a row's time as a share of another's, in a column of the table with this title.
func ratio(table, title, column, of, beside string, most float64) bar {
	return bar{text: fmt.Sprintf("%s: %s to %s", where(title, column), of, beside), table: table, column: column, of: of, beside: beside, most: most}
}

// allocating is the bar on a row's allocations. No machine is too busy to count them, and so
// it finds what no ratio of times does.
func allocating(table, title, column, of string, most float64) bar {
	text := fmt.Sprintf("%s: allocations of %s", where(title, column), of)
	return bar{text: text, table: table, column: column, of: of, most: most, count: wholeAllocations}.ofOurOwn()
}

// where names a column, unless the title does or the table has no other.
func where(title, column string) string {
	if column == "time" || strings.Contains(title, column) {
		return title
	}
	return title + ", " + column
}

func (b bar) ofOurOwn() bar {
	b.beyond = true
	return b
}

// wholeAllocations leaves out what is done once for all calls of a sample.
func wholeAllocations(r measure.Result, _ measure.Load) float64 { return math.Round(r.Allocs()) }

func allocationsOf(r measure.Result, _ measure.Load) float64 { return r.Allocs() }

func allocatedShare(r measure.Result, l measure.Load) float64 { return r.Bytes() / float64(l.Size) }

// judge compares what was measured with every bar, and leaves out what wasn't measured.
func judge(tables []table, short bool) []verdict {
	var list []verdict
	for _, b := range bars() {
		t, _ := find(tables, b.table)
		c, _ := t.column(b.column)
		if of, ok := c.result(b.of); ok {
			v := b.judge(c, of, short)
			v.Group = t.Group
			list = append(list, v)
		}
	}
	return append(list, reported(tables)...)
}

// unseen returns the bars of what wasn't measured.
func unseen(tables []table) []string {
	var list []string
	for _, b := range bars() {
		t, _ := find(tables, b.table)
		c, _ := t.column(b.column)
		if _, ok := c.result(b.of); !ok {
			list = append(list, b.text)
		}
	}
	return list
}

func (b bar) judge(c column, of measure.Result, short bool) verdict {
	v := verdict{Text: b.text, Checked: true, Beyond: b.beyond}
	if b.count != nil {
		got := b.count(of, c.Load)
		v.Got, v.Want, v.Holds = fmt.Sprintf("%.2f", got), fmt.Sprintf("at most %.3g", b.most), got <= b.most
		return v
	}
	beside, ok := c.result(b.beside)
	got := of.Median() / beside.Median()
	most := b.most
	if short {
		most *= slack
	}
	v.Holds, v.Ratio = ok && got <= most, true
	v.Got, v.Want = fmt.Sprintf("%.2fx", got), fmt.Sprintf("at most %.3gx", most)
	if low, high := of.Ratios(beside); low < high {
		v.Range, v.Noise = fmt.Sprintf("%.2fx to %.2fx", low, high), low <= most && most <= high
	}
	if !v.Holds {
		v.Got = fmt.Sprintf("%.3fx", got) // 1.004 is no 1.00
	}
	return v
}

// reported tells of bars in nanoseconds, which hold on one machine and not on another.
func reported(tables []table) []verdict {
	t, _ := find(tables, "engine")
	c, _ := t.column("time")
	decide, ok := c.result(rowDecide)
	if !ok {
		return nil
	}
	invoke, _ := c.result(rowInvoke)
	handler, _ := c.result(rowHandler)
	above := invoke.Median() - handler.Median()
	return []verdict{
		{Text: titleEngine + ": an allowing decision", Got: duration(decide.Median()), Want: "under 20 ns", Holds: decide.Median() < 20},
		{Text: titleEngine + ": Invoke without schema, above its handler", Got: duration(above), Want: "under 1 us", Holds: above < 1e3},
	}
}
