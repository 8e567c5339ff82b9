// Package names holds the rules for names that several packages share.
package names

import (
	"fmt"
	"regexp"
	"strings"
)

// MaxOperation is the longest operation name, in bytes.
const MaxOperation = 128

var (
	operation = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*$`)
	alias     = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)
)

// CheckOperation returns what is wrong with an operation's name, or nil.
func CheckOperation(name string) error {
	switch {
	case len(name) > MaxOperation:
		return fmt.Errorf("operation name %.40q... has %d bytes: at most %d are allowed", name, len(name), MaxOperation)
	case strings.HasPrefix(name, "rpc.") || strings.HasPrefix(name, "$/"):
		return fmt.Errorf("operation name %q is reserved: names beginning with rpc. or $/ belong to the protocol", name)
	case !operation.MatchString(name):
		return fmt.Errorf("operation name %q is not made of dotted words: write letters, digits, _ and -, as in identifier.resolve", name)
	}
	return nil
}

// CheckAlias returns what is wrong with a server's alias or a caller's name, or nil.
func CheckAlias(name string) error {
	if !alias.MatchString(name) {
		return fmt.Errorf("%q is no alias: write up to 64 lower-case letters, digits, _ and -, beginning with a letter or digit", name)
	}
	return nil
}
