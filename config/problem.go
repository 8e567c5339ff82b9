package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong in a configuration, or worth a warning.
type Problem struct {
	File   string
	Line   int // from 1
	Column int // from 1, in bytes
	// Path names the value, as in mcp.library.http.url; empty for the file as a whole.
	Path string
	// Message says what is wrong and what to write instead. It never holds a secret.
	Message string
}

// String returns file:line:column: path: message.
func (p Problem) String() string {
	where := fmt.Sprintf("%s:%d:%d: ", p.File, p.Line, p.Column)
	if p.Path != "" {
		where += p.Path + ": "
	}
	return where + p.Message
}

// Error holds every problem of a configuration.
type Error struct {
	// Problems are sorted by position, and there is at least one.
	Problems []Problem
}

// Error returns one problem per line.
func (e *Error) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.String())
	}
	return b.String()
}

// sorted puts problems in the order of their positions and drops those said twice.
func sorted(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(problems)
}

// clip shortens text that came from a file, for a message.
func clip(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
