package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// settings are what the command line says.
type settings struct {
	only  string
	short bool
	check bool
	docs  string // empty where none was given
}

// docsFolder is where a whole run writes to.
const docsFolder = "../docs"

// parse reads the command line, and tells out what is wrong with it.
func parse(args []string, out io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("report", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&s.only, "only", "", "measure this `group` alone: "+strings.Join(groupNames(), ", "))
	flags.BoolVar(&s.short, "short", false, "measure little")
	flags.BoolVar(&s.check, "check", false, "exit 1 where a bar does not hold")
	flags.StringVar(&s.docs, "docs", "", "write performance.md and its plot into this `folder`; "+
		docsFolder+" for a whole run, and none, but standard output, with -only or -short")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	err := s.judge(flags)
	if err != nil {
		fmt.Fprintln(out, err)
	}
	return s, err
}

func (s settings) judge(flags *flag.FlagSet) error {
	if rest := flags.Args(); len(rest) > 0 {
		return fmt.Errorf("report takes flags alone, so what is %q? A group is asked for with -only", rest)
	}
	var empty []string
	flags.Visit(func(f *flag.Flag) {
		if f.Value.String() == "" {
			empty = append(empty, "-"+f.Name)
		}
	})
	if len(empty) > 0 {
		return fmt.Errorf("%s has an empty value: leave it out, or give it one", strings.Join(empty, ", "))
	}
	if s.only != "" && !slices.Contains(groupNames(), s.only) {
		return fmt.Errorf("there is no group %q: write -only with one of %s", s.only, strings.Join(groupNames(), ", "))
	}
	return nil
}

// partial reports whether something is left out.
func (s settings) partial() bool { return s.only != "" || s.short }

// folder returns where the page goes; empty for standard output.
func (s settings) folder() string {
	if s.docs == "" && !s.partial() {
		return docsFolder
	}
	return s.docs
}

// checkFolder finds out before the run that the page has nowhere to go.
func (s settings) checkFolder() error {
	folder := s.folder()
	if folder == "" {
		return nil
	}
	info, err := os.Stat(folder)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("there is no folder %s for the page: make it, or name another with -docs", folder)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no folder: name one with -docs", folder)
	}
	return nil
}

// command returns what was run, as one would type it.
func (s settings) command() string {
	text := "go run ./report"
	if s.only != "" {
		text += " -only " + s.only
	}
	for _, f := range []struct {
		set  bool
		flag string
	}{{s.short, "-short"}, {s.check, "-check"}} {
		if f.set {
			text += " " + f.flag
		}
	}
	if s.docs != "" {
		text += " -docs " + s.docs
	}
	return text
}

// scope says what a partial run holds.
func (s settings) scope() string {
	var parts []string
	if s.only != "" {
		parts = append(parts, "it holds the group "+s.only+" alone")
	}
	if s.short {
		parts = append(parts, "it was measured in short, with few samples and without the slow tables")
	}
	return strings.Join(parts, ", and ")
}
