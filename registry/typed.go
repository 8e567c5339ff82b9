package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// Typed returns op with a handler made from a function on Go types. Where op states no
// schemas they are derived from P and R: json tags name the fields, fields without
// omitempty are required, a jsonschema tag describes, and unknown fields are refused.
// A struct P takes parameters by name, or by position in the order of its fields; a
// slice takes them by position. What can't be derived is reported by New.
func Typed[P, R any](op Operation, fn func(ctx context.Context, call *Call, params P) (R, error)) Operation {
	if fn == nil {
		op.problem = fmt.Errorf("its function is nil")
		return op
	}
	op.typed = true
	given := op.Params != nil
	op.problem = derive[P, R](&op)
	if !given && op.problem == nil && isExact(reflect.TypeFor[P]()) {
		op.exact = op.Params
	}
	op.Handler = func(ctx context.Context, call *Call) (json.RawMessage, error) {
		var params P
		if err := decode(call, &params); err != nil {
			failure := invalidParams(call.Operation, misfit(call.Params, err))
			failure.Err = fmt.Errorf("a value does not fit: %w", err)
			return nil, failure
		}
		result, err := fn(ctx, call, params)
		if err != nil {
			return nil, err
		}
		return encode(result)
	}
	return op
}

// derive fills in the schemas that op does not state.
func derive[P, R any](op *Operation) error {
	params, err := schemaOf[P]()
	if err != nil && op.Params == nil {
		return fmt.Errorf("no schema can be derived for its parameters: %w", err)
	}
	if err == nil && structKind(reflect.TypeFor[P]()) == reflect.Struct {
		op.positional = append([]string{}, params.PropertyOrder...)
	}
	if op.Params == nil {
		if op.Params, err = json.Marshal(params); err != nil {
			return err
		}
	}
	if op.Result != nil {
		return nil
	}
	result, err := schemaOf[R]()
	if err != nil {
		return fmt.Errorf("no schema can be derived for its result: %w", err)
	}
	op.Result, err = json.Marshal(result)
	return err
}

// schemaOf derives a schema. What encoding/json writes otherwise than as its kind, such as
// bytes in base64, is described as it is written.
func schemaOf[T any]() (*jsonschema.Schema, error) {
	return jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[json.Number]():     {Type: "number"},
		reflect.TypeFor[[]byte]():          {Types: []string{"null", "string"}, ContentEncoding: "base64"},
	}})
}

func structKind(t reflect.Type) reflect.Kind {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind()
}

// encode writes a result without escaping <, > and &.
func encode(result any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(result); err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
