package effects

import (
	"errors"
	"fmt"
	"strings"
)

// Pattern names one thing exactly, or every thing that begins with what stands before a final "*".
type Pattern string

// ParsePattern returns the pattern, or an error where it is empty or has a "*" anywhere but at its end.
func ParsePattern(text string) (Pattern, error) {
	if text == "" {
		return "", errors.New("a pattern can't be empty: write a name, or a prefix and a final *")
	}
	if i := strings.IndexByte(text, '*'); i >= 0 && i != len(text)-1 {
		return "", fmt.Errorf("pattern %q: a * may stand only once, at the end", text)
	}
	return Pattern(text), nil
}

// Exact reports whether the pattern names one thing only.
func (p Pattern) Exact() bool { return !strings.HasSuffix(string(p), "*") }

// Matches reports whether the pattern names this thing.
func (p Pattern) Matches(name string) bool {
	prefix, open := strings.CutSuffix(string(p), "*")
	if open {
		return strings.HasPrefix(name, prefix)
	}
	return prefix == name && name != ""
}

// Closer reports whether p says more about a name that both match: an exact name
// wins over a pattern, a longer prefix over a shorter one.
func (p Pattern) Closer(other Pattern) bool {
	if p.Exact() != other.Exact() {
		return p.Exact()
	}
	return len(p) > len(other)
}

func matchAny(patterns []Pattern, name string) bool {
	for _, p := range patterns {
		if p.Matches(name) {
			return true
		}
	}
	return false
}
