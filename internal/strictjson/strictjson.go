package strictjson

import "fmt"

// MaxDepth is the deepest nesting that any text may have; smaller limits are given per call.
const MaxDepth = 1024

// SyntaxError says why a text is not valid.
type SyntaxError struct {
	// Offset is where, in bytes from 0.
	Offset int
	// Reason is a phrase without position, such as "a string holds invalid UTF-8".
	Reason string
	// TooDeep says that only the limit of nesting is exceeded so far.
	TooDeep bool
}

// Error returns the offset and the reason.
func (e *SyntaxError) Error() string { return fmt.Sprintf("at byte %d: %s", e.Offset, e.Reason) }

// Valid returns nil when data is exactly one JSON text, blanks around it allowed, with
// arrays and objects nested at most maxDepth deep; else a *SyntaxError.
func Valid(data []byte, maxDepth int) error {
	end, err := Value(data, Space(data, 0), maxDepth)
	if err != nil {
		return err
	}
	if end = Space(data, end); end < len(data) {
		return fail(end, "something follows the JSON text")
	}
	return nil
}

// Kind is the kind of a JSON value.
type Kind uint8

// The kinds of value.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"no JSON value", "null", "boolean", "number", "string", "array", "object"}

// String returns the kind's name, such as "object".
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		k = Invalid
	}
	return kindNames[k]
}

// KindOf returns the kind of a valid text, by its first byte that is no blank.
func KindOf(data []byte) Kind {
	i := Space(data, 0)
	if i == len(data) {
		return Invalid
	}
	switch c := data[i]; {
	case c == '{':
		return Object
	case c == '[':
		return Array
	case c == '"':
		return String
	case c == '-' || isDigit(c):
		return Number
	case c == 't' || c == 'f':
		return Bool
	case c == 'n':
		return Null
	}
	return Invalid
}

func fail(offset int, reason string) *SyntaxError {
	return &SyntaxError{Offset: offset, Reason: reason}
}
