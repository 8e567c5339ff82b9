package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/registry"
)

// Exit codes.
const (
	exitDone     = 0
	exitReported = 1 // the tool or the handler reported an error
	exitUsage    = 2
	exitDenied   = 3
	exitAgain    = 4 // timeout, unavailable, overloaded, shutting down
	exitOther    = 5
	exitCut      = 130
)

var exitCodes = map[registry.Kind]int{
	registry.KindApplication:     exitReported,
	registry.KindMethodNotFound:  exitUsage,
	registry.KindInvalidParams:   exitUsage,
	registry.KindDenied:          exitDenied,
	registry.KindUnauthenticated: exitDenied,
	registry.KindTimeout:         exitAgain,
	registry.KindUnavailable:     exitAgain,
	registry.KindOverloaded:      exitAgain,
	registry.KindShuttingDown:    exitAgain,
	registry.KindCancelled:       exitCut,
}

// usageError is a mistake in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errReported says that a tool answered with an error, which stands on standard output.
var errReported = errors.New("the tool reported an error")

// errTold says that the command has told everything already, with this exit code.
type errTold int

func (e errTold) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// exit says what went wrong, if anything did, and returns the exit code.
func (c *cli) exit(ctx context.Context, err error) int {
	if err == nil {
		return exitDone
	}
	if told, ok := errors.AsType[errTold](err); ok {
		return int(told)
	}
	code := exitCode(ctx, err)
	if c.output == "json" {
		c.sayJSON(code, err)
		return code
	}
	c.say(err)
	return code
}

// exitCode returns the exit code of an error that the command has not told.
func exitCode(ctx context.Context, err error) int {
	if failure, ok := errors.AsType[*registry.Error](err); ok {
		if code, known := exitCodes[failure.Kind]; known {
			return code
		}
		return exitOther
	}
	_, broken := errors.AsType[*config.Error](err)
	_, unbuilt := errors.AsType[*registry.BuildError](err)
	_, usage := errors.AsType[usageError](err)
	switch {
	case errors.Is(err, errReported):
		return exitReported
	case broken || unbuilt || usage || isCobraUsage(err):
		return exitUsage
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return exitCut
	}
	return exitOther
}

// say tells a person what went wrong.
func (c *cli) say(err error) {
	if failure, ok := errors.AsType[*registry.Error](err); ok {
		c.sayFailure(failure, err)
		return
	}
	if _, ok := errors.AsType[*config.Error](err); ok && !ofAnEdit(err) {
		fmt.Fprintln(c.talk, err) // in the form that editors jump to
		return
	}
	fmt.Fprintln(c.talk, "cupule:", err)
}

// isCobraUsage recognises the usage errors for which cobra has no type.
func isCobraUsage(err error) bool {
	text := err.Error()
	for _, part := range []string{"unknown command", "arg(s)", "unknown flag", "required flag", "invalid argument"} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// sayFailure tells a failed call, which err holds, with everything that an operator can use.
func (c *cli) sayFailure(e *registry.Error, err error) {
	text := e.Error()
	if !strings.HasPrefix(text, string(e.Kind)+": ") {
		text = string(e.Kind) + ": " + text
	}
	fmt.Fprintln(c.talk, "cupule:", text)
	for _, r := range e.Reasons {
		fmt.Fprintf(c.talk, "  %s: %s%s\n", r.Rule, r, at(r.At.String()))
	}
	if far, ok := errors.AsType[*remoteError](err); ok {
		for _, r := range far.reasons {
			fmt.Fprintf(c.talk, "  %s\n", r.line())
		}
	}
	for _, p := range e.Problems {
		fmt.Fprintf(c.talk, "  at %q: %s\n", p.Path, p.Message)
	}
	if e.Limit != nil {
		fmt.Fprintf(c.talk, "  limit: %s\n", e.Limit)
	}
	if e.Phase != "" {
		fmt.Fprintf(c.talk, "  phase: %s\n", e.Phase)
	}
	if e.Ran != "" {
		fmt.Fprintf(c.talk, "  ran: %s\n", e.Ran)
	}
}

func at(position string) string {
	if position == "" {
		return ""
	}
	return " (" + position + ")"
}

// ofAnEdit reports whether the problems are those of a file as an edit would have made it:
// their places are none that the user could look at.
func ofAnEdit(err error) bool {
	broken, ok := errors.AsType[*config.Error](err)
	return ok && broken.Error() != err.Error()
}
