package registry

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/cupule/cupule/internal/strictjson"
)

// decode reads parameters that match the schema already; numbers that don't fit the Go
// type still fail here.
func decode(call *Call, into any) error {
	if call.Params == nil {
		return nil
	}
	if call.exact {
		return json.Unmarshal(call.Params, into)
	}
	d := json.NewDecoder(bytes.NewReader(call.Params))
	d.DisallowUnknownFields()
	d.UseNumber()
	return d.Decode(into)
}

// isExact reports whether the schema that is derived from a type refuses each field that
// decoding would not know, and no number ends in an interface.
func isExact(t reflect.Type) bool {
	if decodesItself(t) {
		return true
	}
	switch t.Kind() {
	case reflect.Interface:
		return false
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return isExact(t.Elem())
	case reflect.Struct:
		return hasExactFields(t)
	}
	return true
}

func decodesItself(t reflect.Type) bool {
	t = reflect.PointerTo(t)
	return t.Implements(reflect.TypeFor[json.Unmarshaler]()) || t.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// hasExactFields leaves out what encoding/json has rules of its own for: embedded fields,
// names that several fields have, and unusual names.
func hasExactFields(t reflect.Type) bool {
	seen := map[string]bool{}
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		if f.Anonymous {
			return false
		}
		if !f.IsExported() || tag == "-" {
			continue
		}
		name, _, _ := strings.Cut(tag, ",")
		if name == "" {
			name = f.Name
		}
		if seen[name] || strings.ContainsFunc(name, isUnusual) || !isExact(f.Type) {
			return false
		}
		seen[name] = true
	}
	return true
}

func isUnusual(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' || r == '.')
}

// misfit tells what a value that matches the schema and not the Go type is, without the
// names and texts of Go, which stay in the cause.
func misfit(params json.RawMessage, err error) ParamProblem {
	p := ParamProblem{Message: "a value does not fit what the operation takes"}
	if name, unknown := unknownField(err); unknown {
		return ParamProblem{Path: clip(holder(params, name)), Message: fmt.Sprintf("the field '%s' is unknown: leave it out", clip(name))}
	}
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return p
	}
	if wrong.Field != "" {
		p.Path = clip("/" + strings.ReplaceAll(wrong.Field, ".", "/"))
		p.Message = "the value does not fit what the operation takes"
	}
	number, isNumber := strings.CutPrefix(wrong.Value, "number ")
	if !isNumber {
		return p
	}
	if end := int(min(wrong.Offset, int64(len(params)))); bytes.HasSuffix(params[:end], []byte(number)) {
		p.Path = clip(strictjson.PointerTo(params, end-len(number)))
	}
	p.Message = clip("the number " + number + " does not fit" + wanted(wrong.Type))
	return p
}

// unknownField returns the name of a field that encoding/json found and doesn't know. Its
// error has no type.
func unknownField(err error) (name string, ok bool) {
	quoted, ok := strings.CutPrefix(err.Error(), "json: unknown field ")
	if !ok {
		return "", false
	}
	name, err = strconv.Unquote(quoted)
	return name, err == nil
}

// wanted returns which numbers a Go type holds, as the end of a sentence.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		high := int64(math.MaxInt64) >> (64 - t.Bits())
		return fmt.Sprintf(": write a whole number from %d to %d", -high-1, high)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return fmt.Sprintf(": write a whole number from 0 to %d", uint64(math.MaxUint64)>>(64-t.Bits()))
	}
	return ""
}
