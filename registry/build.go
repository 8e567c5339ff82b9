package registry

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/internal/names"
)

// entry is an operation with what New worked out from it.
type entry struct {
	Operation
	params  *schema
	exact   bool
	timeout *Error // the smaller limit of operation and tool, ready to be the cause of a deadline
	wait    time.Duration
	output  Limit
}

type builder struct {
	handlers map[string]Handler
	entries  map[string]*entry
	problems []Problem
}

func (b *builder) sorted() []*Operation {
	list := make([]*Operation, 0, len(b.entries))
	for _, e := range b.entries {
		list = append(list, &e.Operation)
	}
	slices.SortFunc(list, func(x, y *Operation) int { return cmp.Compare(x.Name, y.Name) })
	return list
}

func (b *builder) add(op Operation) {
	before := len(b.problems)
	e := &entry{Operation: op, exact: op.exact != nil && bytes.Equal(op.exact, op.Params)}
	reportIn := func(key string, at effects.Position) func(string, ...any) {
		return func(format string, args ...any) {
			b.problems = append(b.problems, Problem{Operation: op.Name, Key: key, At: cmp.Or(at, op.At), Message: fmt.Sprintf(format, args...)})
		}
	}
	report := reportIn("", op.At)
	b.checkName(op, report)
	b.bind(e, report)
	checkLimits(op, report)
	checkEffects(op, report)
	if op.problem != nil {
		report("%v", op.problem)
	}
	e.params = compile(op.Params, reportIn("params", op.ParamsAt))
	compile(op.Result, reportIn("result", op.ResultAt))
	if len(b.problems) > before {
		return
	}
	e.setLimits()
	b.entries[op.Name] = e
}

func (b *builder) checkName(op Operation, report func(string, ...any)) {
	if err := names.CheckOperation(op.Name); err != nil {
		report("%v", err)
	}
	if b.entries[op.Name] != nil {
		report("the name is taken already: give each operation its own")
	}
}

func (b *builder) bind(e *entry, report func(string, ...any)) {
	handler, given := b.handlers[e.Name]
	delete(b.handlers, e.Name)
	switch {
	case given && e.Handler != nil:
		report("it has a handler already: remove the one in Handlers")
	case given && handler != nil:
		e.Handler = handler
	case e.Handler == nil:
		report("it has no handler: name a tool in the configuration, or bind a handler in Go")
	}
}

func (b *builder) unusedHandler(name string) {
	b.problems = append(b.problems, Problem{Operation: name, Message: "a handler is bound to it, but no operation of this name is declared: declare it or remove the handler"})
}

func checkLimits(op Operation, report func(string, ...any)) {
	if op.Timeout < 0 || op.Timeout > MaxTimeout {
		report("timeout %v is out of range: write more than 0 and at most %v", op.Timeout, MaxTimeout)
	}
	if op.MaxOutput < 0 || op.MaxOutput > LargestMaxOutput {
		report("max_output %d is out of range: write more than 0 and at most %d bytes", op.MaxOutput, LargestMaxOutput)
	}
}

func checkEffects(op Operation, report func(string, ...any)) {
	if op.Upstream == nil {
		return
	}
	if t := op.Upstream.Transport; t != effects.Stdio && t != effects.StreamableHTTP {
		report("its tool %s/%s has no transport", op.Upstream.Server, op.Upstream.Tool)
	}
	if missing := op.Upstream.Effects.Minus(op.Effects); missing != 0 {
		report("its effects (%v) don't cover those of tool %s/%s: add %v", op.Effects, op.Upstream.Server, op.Upstream.Tool, missing)
	}
}

// setLimits picks the smaller of the operation's and its tool's limits.
func (e *entry) setLimits() {
	whose := "operation " + e.Name
	wait, size := e.Timeout, e.MaxOutput
	timeoutOf, outputOf := whose, whose
	if u := e.Upstream; u != nil {
		tool := "tool " + u.Server + "/" + u.Tool
		if u.Timeout > 0 && (wait == 0 || u.Timeout <= wait) {
			wait, timeoutOf = u.Timeout, tool
		}
		if u.MaxOutput > 0 && (size == 0 || u.MaxOutput <= size) {
			size, outputOf = u.MaxOutput, tool
		}
	}
	e.wait = cmp.Or(wait, DefaultTimeout)
	e.timeout = timedOut(e.Name, Limit{Name: "timeout", Whose: timeoutOf, Seconds: e.wait.Seconds()})
	e.output = Limit{Name: "max_output", Whose: outputOf, Bytes: cmp.Or(size, DefaultMaxOutput)}
}
