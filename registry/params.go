package registry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cupule/cupule/internal/strictjson"
)

// checkParams returns the parameters as the handler gets them: by name where the
// operation has named fields, and matching its schema.
func (e *entry) checkParams(params json.RawMessage) (json.RawMessage, *Error) {
	if params != nil {
		if problem := checkForm(params); problem != nil {
			return nil, invalidParams(e.Name, *problem)
		}
		var err *Error
		if params, err = e.named(params); err != nil {
			return nil, err
		}
	}
	if e.params == nil {
		return params, nil
	}
	value := params
	if value == nil {
		value = e.params.absent
	}
	loose, problems := e.params.check(value)
	if problems != nil {
		return nil, invalidParams(e.Name, problems...)
	}
	if e.typed && params != nil {
		params = respell(params, loose)
	}
	return params, nil
}

// checkForm holds parameters to one object or array without repeated keys.
func checkForm(params json.RawMessage) *ParamProblem {
	if err := strictjson.Valid(params, strictjson.MaxDepth); err != nil {
		return &ParamProblem{Message: "not valid JSON: " + err.Error()}
	}
	if first := bytes.TrimLeft(params, " \t\r\n")[0]; first != '{' && first != '[' {
		return &ParamProblem{Message: "parameters are an object or an array"}
	}
	if at, found := strictjson.DuplicateKey(params); found {
		return &ParamProblem{Path: clip(at), Message: "the key stands twice"}
	}
	return nil
}

// named turns positional parameters into named ones for an operation with named fields.
func (e *entry) named(params json.RawMessage) (json.RawMessage, *Error) {
	if e.positional == nil || bytes.TrimLeft(params, " \t\r\n")[0] != '[' {
		return params, nil
	}
	var b bytes.Buffer
	b.WriteByte('{')
	n := 0
	for value := range strictjson.Elements(params) {
		if n == len(e.positional) {
			return nil, invalidParams(e.Name, ParamProblem{Path: fmt.Sprintf("/%d", n),
				Message: fmt.Sprintf("at most %d positional parameters: %s", n, strings.Join(e.positional, ", "))})
		}
		if n > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(e.positional[n])
		if err != nil {
			return nil, internal(e.Name, err)
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
		n++
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func invalidParams(operation string, problems ...ParamProblem) *Error {
	message := "invalid parameters: " + problems[0].Message
	if problems[0].Path != "" {
		message = "invalid parameters: at " + problems[0].Path + ": " + problems[0].Message
	}
	return &Error{Kind: KindInvalidParams, Message: message, Operation: operation, Problems: problems}
}
