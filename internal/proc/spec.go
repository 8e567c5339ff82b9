package proc

import (
	"slices"
	"strings"

	"github.com/cupule/cupule/effects"
)

// Spec says what to start, and what the child gets. Whatever isn't named here, it doesn't get.
type Spec struct {
	// Name is what errors call the child, such as the alias of a server.
	Name string
	// Path is the file to run. It is not looked up: a name without a slash is a file in Dir.
	Path string
	// Args are the arguments behind the name of the program.
	Args []string
	// Dir is the folder to run in; empty means that of this process.
	Dir string
	// Env is the complete environment, as NAME=value. Nil and empty both mean an empty one.
	Env []string
	// Secrets are values that Stderr masks, in these bytes and as JSON writes them.
	Secrets []string
	// Effects are what the calls that this child is started for may do. Nothing depends on
	// them yet: they stand here so that the kernel can be told before the child starts.
	Effects effects.Set
}

func (s *Spec) check() error {
	hasNUL := func(text string) bool { return strings.IndexByte(text, 0) >= 0 }
	switch {
	case s.Path == "":
		return s.fail(NotFound, nil)
	case hasNUL(s.Path), hasNUL(s.Dir), slices.ContainsFunc(s.Args, hasNUL), slices.ContainsFunc(s.Env, hasNUL):
		return s.fail(BadArgument, nil)
	default:
		return nil
	}
}

func (s *Spec) argv() []string { return append([]string{s.Path}, s.Args...) }
