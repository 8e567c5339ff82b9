// The report measures Cupule beside what a user would take instead, in one run on one
// machine, and writes down what it saw.
//
//	go run ./report                  everything, into ../docs/performance.md and its plot
//	go run ./report -only inbound    one group, to standard output: engine, inbound, outbound, large, whole
//	go run ./report -check           and exit 1 where a bar doesn't hold
//	go run ./report -short -check    a quick look that fails only far off a bar, for CI
//	go run ./report -docs FOLDER     write into this folder; -only and -short write no files without it
//
// Interrupted, it ends what it started, removes what it built, and writes nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	log.SetFlags(log.Ltime)
	s, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, s, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// errBars says that bars don't hold; which, the report has said.
var errBars = errors.New("bars do not hold, see above")

// errInterrupted says that a signal ended the run.
var errInterrupted = errors.New("interrupted: nothing was written")

func run(ctx context.Context, s settings, out io.Writer) error {
	if err := s.checkFolder(); err != nil {
		return err
	}
	l, err := newLab(ctx, s.short)
	if err != nil {
		return interrupted(ctx, err)
	}
	defer l.close()
	r, err := l.report(s)
	if err != nil {
		return interrupted(ctx, err)
	}
	if folder := s.folder(); folder != "" {
		err = r.publish(folder)
	} else {
		err = r.print(out)
	}
	if err != nil {
		return err
	}
	return r.tell(out)
}

// interrupted says so where a signal is behind an error.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// report measures what the settings ask for, and judges it.
func (l *lab) report(s settings) (report, error) {
	began, on := time.Now(), machine() // of the commit that is measured, whatever is committed meanwhile
	tables, err := l.measure(s.only)
	if err != nil {
		return report{}, err
	}
	verdicts := judge(tables, s.short)
	if s.short && s.check {
		if verdicts, err = l.doubt(verdicts); err != nil {
			return report{}, err
		}
	}
	return report{
		settings: s, Tables: tables, Verdicts: verdicts, Unseen: unseen(tables),
		Machine: on, Took: time.Since(began).Round(time.Second),
	}, nil
}

// tell names the bars that don't hold, and those that weren't looked at.
func (r report) tell(out io.Writer) error {
	failed := 0
	for _, v := range r.Verdicts {
		if v.Checked && !v.Holds {
			failed++
			noise := ""
			if v.Noise {
				noise = withinNoise
			}
			if _, err := fmt.Fprintf(out, "DOES NOT HOLD: %s: %s, want %s%s\n", v.Text, v.Got, v.Want, noise); err != nil {
				return err
			}
		}
	}
	if !r.check {
		return nil
	}
	for _, text := range r.Unseen {
		if _, err := fmt.Fprintf(out, "NOT LOOKED AT: %s\n", text); err != nil {
			return err
		}
	}
	if failed > 0 || r.only == "" && len(r.Unseen) > 0 {
		return errBars
	}
	return nil
}
