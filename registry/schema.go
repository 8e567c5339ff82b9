package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/cupule/cupule/internal/strictjson"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schema is a compiled JSON Schema for parameters.
type schema struct {
	compiled *jsonschema.Schema
	// absent is what stands for parameters that were not sent: {} or [].
	absent json.RawMessage
	// anyObject says that every object matches, so that none needs to be decoded.
	anyObject bool
	// outline tells quickly of most valid parameters that they are; nil for none.
	outline *outline
}

// MaxParamValues bounds the number of JSON values in parameters that are compared with a
// schema: each takes many times its bytes while it is compared.
const MaxParamValues = 65_536

// maxDigits bounds a number that is compared with a schema: the validator computes with exact
// fractions, and 1e999999999 would take all memory.
const maxDigits = 400

// tooLong is what is wrong with any other number.
const tooLong = "the number takes more than 400 digits when written without an exponent: write a shorter one"

// compile returns the compiled schema, or nil after it has reported what is wrong. It
// fetches nothing.
func compile(text json.RawMessage, report func(string, ...any)) *schema {
	if text == nil {
		return nil
	}
	compiled, err := compileText(text)
	if err != nil {
		report("the schema is invalid: %v", err)
		return nil
	}
	if at := findCycle(compiled); at != "" {
		report("the schema never ends: %s refers to itself without going deeper into the value", at)
		return nil
	}
	s := &schema{compiled: compiled, absent: json.RawMessage("{}"), outline: outlineOf(compiled)}
	if string(strictjson.AppendCompact(nil, text)) == `{"type":"object"}` {
		s.anyObject = true
		return s
	}
	if list := json.RawMessage("[]"); !s.takes(s.absent) && s.takes(list) {
		s.absent = list
	}
	return s
}

func (s *schema) takes(params json.RawMessage) bool {
	_, problems := s.check(params)
	return problems == nil
}

const schemaURL = "urn:cupule:schema"

func compileText(text json.RawMessage) (*jsonschema.Schema, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return nil, compileError(err)
	}
	return compiled, nil
}

// checkText refuses what two parsers could read differently, and numbers that can't be
// computed with.
func checkText(text json.RawMessage) error {
	if err := strictjson.Valid(text, strictjson.MaxDepth); err != nil {
		return err
	}
	if at, found := strictjson.DuplicateKey(text); found {
		return fmt.Errorf("the key %s stands twice", at)
	}
	if at, found := strictjson.HugeNumber(text, maxDigits); found {
		return errors.New(strings.TrimPrefix("at "+at+": "+tooLong, "at : "))
	}
	return nil
}

// noLoader refuses every reference that leaves the schema.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is outside the schema and is not fetched: copy it under $defs", url)
}

// check returns what is wrong with a valid JSON text, or nil, and the numbers in it that
// only look as if they weren't whole.
func (s *schema) check(params json.RawMessage) (loose []span, problems []ParamProblem) {
	if s.anyObject {
		if kind := strictjson.KindOf(params); kind != strictjson.Object {
			return nil, []ParamProblem{{Message: fmt.Sprintf("got %s, want object", kind)}}
		}
		return nil, nil
	}
	if crowded(params) {
		return nil, []ParamProblem{{Message: fmt.Sprintf("there are more than %d values", MaxParamValues)}}
	}
	if at, found := strictjson.HugeNumber(params, maxDigits); found {
		return nil, []ParamProblem{{Path: at, Message: tooLong}}
	}
	seen := s.outline.look(params)
	if seen.certain() {
		return nil, nil
	}
	return seen.loose, s.validate(params)
}

// validate asks the validator, which decodes the whole.
func (s *schema) validate(params json.RawMessage) []ParamProblem {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(params))
	if err != nil {
		return []ParamProblem{{Message: "not one JSON value"}}
	}
	err = s.compiled.Validate(value)
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return problems(invalid, params)
	}
	if err != nil {
		return []ParamProblem{{Message: "it can't be compared with the schema"}}
	}
	return nil
}

// crowded reports whether a valid JSON text holds more than MaxParamValues values.
func crowded(text json.RawMessage) bool {
	if len(text) <= 2*MaxParamValues {
		return false
	}
	n := 1
	for i := 0; i < len(text) && n <= MaxParamValues; i++ {
		switch text[i] {
		case ',', '[', '{', ':':
			n++
		case '"':
			end, _, err := strictjson.Quoted(text, i)
			if err != nil {
				return true
			}
			i = end - 1
		}
	}
	return n > MaxParamValues
}
