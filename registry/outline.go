package registry

import (
	"math"
	"math/big"
	"reflect"

	"github.com/cupule/cupule/internal/strictjson"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// outline is that part of a schema which can be compared with the bytes of a value, without
// decoding it. It can only tell that a value is certainly valid; all else is left to the
// validator, which alone finds problems. A nil outline is certain of nothing.
type outline struct {
	anything  bool // every value is valid
	kinds     [strictjson.Object + 1]bool
	fractions bool // numbers need not be whole

	bounded      bool // numbers are from low to high, and between above and below
	low, high    int64
	above, below int64

	words             []string // the strings that are valid; nil for all of them
	shortest, longest int      // in code points

	fields   map[string]field
	extra    *outline // of keys that fields lacks
	required uint64   // the bits of the fields that are required

	items *outline
}

type field struct {
	outline *outline
	bit     uint64 // 0 where the field may be absent
}

var everything = &outline{anything: true}

// understood names what an outline knows in a compiled schema, and what says nothing
// about values. A schema with anything else has no outline.
var understood = map[string]bool{
	"DraftVersion": true, "Location": true, "ID": true, "Anchor": true,
	"Title": true, "Description": true, "Default": true, "Comment": true,
	"ReadOnly": true, "WriteOnly": true, "Examples": true, "Deprecated": true,

	"Types": true, "Enum": true, "Const": true,
	"Required": true, "Properties": true, "AdditionalProperties": true, "Items2020": true,
	"MinLength": true, "MaxLength": true,
	"Minimum": true, "Maximum": true, "ExclusiveMinimum": true, "ExclusiveMaximum": true,
}

// outlineOf returns the outline of a compiled schema, or nil.
func outlineOf(s *jsonschema.Schema) *outline {
	if s == nil || s.Bool != nil && *s.Bool {
		return everything
	}
	if s.Bool != nil || s.DraftVersion != 2020 || !isUnderstood(s) {
		return nil
	}
	o := &outline{items: outlineOf(s.Items2020)}
	o.setKinds(s.Types)
	if !o.setNumbers(s) || !o.setWords(s) || !o.setFields(s) {
		return nil
	}
	o.shortest, o.longest = orElse(s.MinLength, 0), orElse(s.MaxLength, math.MaxInt)
	return o
}

func isUnderstood(s *jsonschema.Schema) bool {
	for f, v := range reflect.ValueOf(*s).Fields() {
		if f.IsExported() && !understood[f.Name] && !v.IsZero() {
			return false
		}
	}
	return true
}

func orElse(n *int, absent int) int {
	if n == nil {
		return absent
	}
	return *n
}

func (o *outline) setKinds(types *jsonschema.Types) {
	names := []string{"null", "boolean", "number", "string", "array", "object"}
	if types != nil && !types.IsEmpty() {
		names = types.ToStrings()
	}
	for _, name := range names {
		o.fractions = o.fractions || name == "number"
		if name == "integer" {
			name = "number"
		}
		for kind := range o.kinds {
			o.kinds[kind] = o.kinds[kind] || strictjson.Kind(kind).String() == name
		}
	}
}

// setNumbers reports whether int64 holds the bounds.
func (o *outline) setNumbers(s *jsonschema.Schema) bool {
	ok := true
	bound := func(r *big.Rat, absent int64) int64 {
		if r == nil {
			return absent
		}
		o.bounded = true
		ok = ok && r.IsInt() && r.Num().IsInt64()
		return r.Num().Int64()
	}
	o.low, o.high = bound(s.Minimum, math.MinInt64), bound(s.Maximum, math.MaxInt64)
	o.above, o.below = bound(s.ExclusiveMinimum, math.MinInt64), bound(s.ExclusiveMaximum, math.MaxInt64)
	return ok
}

// setWords reports whether what is enumerated are strings.
func (o *outline) setWords(s *jsonschema.Schema) bool {
	var values []any
	switch {
	case s.Enum != nil && s.Const != nil:
		return false
	case s.Enum != nil:
		values = s.Enum.Values
	case s.Const != nil:
		values = []any{*s.Const}
	}
	for _, v := range values {
		word, ok := v.(string)
		if !ok {
			return false
		}
		o.words = append(o.words, word)
	}
	return s.Enum == nil || len(values) > 0
}

// setFields reports whether the required fields have room.
func (o *outline) setFields(s *jsonschema.Schema) bool {
	switch extra := s.AdditionalProperties.(type) {
	case nil:
		o.extra = everything
	case bool:
		if extra {
			o.extra = everything
		}
	case *jsonschema.Schema:
		o.extra = outlineOf(extra)
	}
	o.fields = make(map[string]field, len(s.Properties))
	for name, property := range s.Properties {
		o.fields[name] = field{outline: outlineOf(property)}
	}
	for i, name := range s.Required {
		f, known := o.fields[name]
		if !known {
			f.outline = o.extra
		}
		f.bit |= 1 << i
		o.required |= f.bit
		o.fields[name] = f
	}
	return len(s.Required) <= 64
}
