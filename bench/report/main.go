// The report measures Cupule beside what a user would take instead, in one run on one
// machine, and writes down what it saw.
//
//	go run ./report                  everything, into ../docs/performance.md and its plot
//	go run ./report -only inbound    one group, to standard output: engine, inbound, outbound, large, whole
//	go run ./report -check           and exit 1 where a bar doesn't hold
//	go run ./report -short -check    a quick look that fails only far off a bar, for CI
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"time"
)

// settings are what the command line says.
type settings struct {
	only  string
	short bool
	check bool
	docs  string
}

func main() {
	log.SetFlags(log.Ltime)
	var s settings
	flag.StringVar(&s.only, "only", "", "measure this `group` alone, and write to standard output")
	flag.BoolVar(&s.short, "short", false, "measure little, and write to standard output")
	flag.BoolVar(&s.check, "check", false, "exit 1 where a bar does not hold")
	flag.StringVar(&s.docs, "docs", "../docs", "the `folder` that performance.md and its plot go to")
	flag.Parse()
	if err := run(s, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// errBars says that bars don't hold; which, the report has said.
var errBars = errors.New("bars do not hold, see above")

func run(s settings, out io.Writer) error {
	l, err := newLab(s.short)
	if err != nil {
		return err
	}
	defer l.close()
	began := time.Now()
	tables, err := l.measure(s.only)
	if err != nil {
		return err
	}
	verdicts := judge(tables, s.short)
	if s.short && s.check {
		if verdicts, err = l.doubt(verdicts); err != nil {
			return err
		}
	}
	r := report{Tables: tables, Verdicts: verdicts, Machine: machine(), Took: time.Since(began).Round(time.Second)}
	if s.only == "" && !s.short {
		err = r.publish(s.docs)
	} else {
		err = r.print(out)
	}
	if err != nil {
		return err
	}
	return tell(out, verdicts, s.check)
}

// tell names the bars that don't hold.
func tell(out io.Writer, verdicts []verdict, check bool) error {
	failed := 0
	for _, v := range verdicts {
		if v.Checked && !v.Holds {
			failed++
			if _, err := fmt.Fprintf(out, "DOES NOT HOLD: %s: %s, want %s\n", v.Text, v.Got, v.Want); err != nil {
				return err
			}
		}
	}
	if check && failed > 0 {
		return errBars
	}
	return nil
}

// group measures one part.
type group struct {
	name string
	run  func(*lab) ([]table, error)
}

var groups = []group{
	{"engine", engineTables},
	{"inbound", inboundTables},
	{"outbound", outboundTables},
	{"large", largeTables},
	{"whole", wholeTables},
}

// measure runs the groups, or the only one that is wanted.
func (l *lab) measure(only string) ([]table, error) {
	if only != "" && !slices.ContainsFunc(groups, func(g group) bool { return g.name == only }) {
		return nil, fmt.Errorf("there is no group %q", only)
	}
	var all []table
	for _, g := range groups {
		if only != "" && only != g.name {
			continue
		}
		log.Printf("measuring: %s", g.name)
		tables, err := g.run(l)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", g.name, err)
		}
		for i := range tables {
			tables[i].Group = g.name
		}
		all = append(all, tables...)
	}
	return all, nil
}
