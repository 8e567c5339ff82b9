package jsonrpcserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/cupule/cupule/internal/strictjson"
)

// ID is the id of a request, byte for byte as it stands on the wire: a string, a number
// of any size, or null. The zero ID is no id, as notifications have it. IDs compare with ==,
// by their bytes: 1 and 1.0 are two ids.
type ID struct{ raw string }

// NullID is the id null.
var NullID = ID{raw: "null"}

// NumberID returns the id that is this number.
func NumberID(n int64) ID { return ID{raw: strconv.FormatInt(n, 10)} }

// StringID returns the id that is this string. Invalid UTF-8 becomes U+FFFD.
func StringID(s string) ID { return ID{raw: string(appendString(nil, s))} }

// ParseID returns the id that is written as this JSON value.
func ParseID(raw []byte) (ID, error) {
	var id ID
	err := id.UnmarshalJSON(raw)
	return id, err
}

// IsZero reports whether there is no id.
func (id ID) IsZero() bool { return id.raw == "" }

// IsNull reports whether the id is null.
func (id ID) IsNull() bool { return id.raw == "null" }

// String returns the id as it stands on the wire, or "" for the zero ID.
func (id ID) String() string { return id.raw }

// MarshalJSON returns the id as it stands on the wire; the zero ID becomes null.
func (id ID) MarshalJSON() ([]byte, error) {
	if id.IsZero() {
		return []byte("null"), nil
	}
	return []byte(id.raw), nil
}

// UnmarshalJSON keeps the bytes of a string, a number or null, and refuses any other value.
func (id *ID) UnmarshalJSON(raw []byte) error {
	if err := strictjson.Valid(raw, 1); err != nil {
		return fmt.Errorf("id: %w", err)
	}
	if !isID(raw) {
		return fmt.Errorf("id: write a string, a number or null, not a %s", strictjson.KindOf(raw))
	}
	start := strictjson.Space(raw, 0)
	end, _ := strictjson.Value(raw, start, 1)
	id.raw = string(raw[start:end])
	return nil
}

// sameID reports whether two valid ids are the same string or the same number.
func sameID(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	s, ok := stringValue(a)
	t, both := stringValue(b)
	if ok || both {
		return ok && both && bytes.Equal(s, t)
	}
	return sameNumber(a, b)
}

// maxNumber bounds the numbers that are compared by their values. Longer ones are the same
// if they are spelled alike.
const maxNumber = 64

func sameNumber(a, b []byte) bool {
	if strictjson.KindOf(a) != strictjson.Number || strictjson.KindOf(b) != strictjson.Number || max(len(a), len(b)) > maxNumber {
		return false
	}
	x, xScale, xOK := decimal(a)
	y, yScale, yOK := decimal(b)
	return xOK && yOK && x == y && xScale == yScale
}

// decimal returns a valid number as its sign and digits, without zeros at either end, and
// the power of ten to multiply them by; ok is false for a power of more than eight digits.
func decimal(number []byte) (digits string, scale int, ok bool) {
	text, exponent, _ := strings.Cut(strings.ToLower(string(number)), "e")
	if len(exponent) > 9 {
		return "", 0, false
	}
	scale, _ = strconv.Atoi(strings.TrimPrefix(exponent, "+"))
	text, negative := strings.CutPrefix(text, "-")
	whole, fraction, _ := strings.Cut(text, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	scale -= len(fraction)
	trimmed := strings.TrimRight(digits, "0")
	scale += len(digits) - len(trimmed)
	switch {
	case trimmed == "":
		return "", 0, true
	case negative:
		trimmed = "-" + trimmed
	}
	return trimmed, scale, true
}

// isID reports whether a valid JSON value may be an id.
func isID(raw json.RawMessage) bool {
	switch strictjson.KindOf(raw) {
	case strictjson.String, strictjson.Number, strictjson.Null:
		return true
	}
	return false
}
