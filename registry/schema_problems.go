package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cupule/cupule/internal/strictjson"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Bounds on what is told about wrong parameters.
const (
	maxProblems       = 50
	maxProblemMessage = 300 // bytes
)

// problems lists the paths at which a valid JSON text does not match, in their order, at most
// maxProblems.
func problems(invalid *jsonschema.ValidationError, text json.RawMessage) []ParamProblem {
	var list []ParamProblem
	left := 0
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		name, isName := e.ErrorKind.(*kind.PropertyNames)
		if len(e.Causes) > 0 && !isName {
			for _, cause := range e.Causes {
				walk(cause)
			}
			return
		}
		switch {
		case len(list) == maxProblems:
			left++
		case isName:
			list = append(list, misnamed(e, name.Property, text))
		default:
			list = append(list, problem(e))
		}
	}
	walk(invalid)
	slices.SortStableFunc(list, func(a, b ParamProblem) int { return strings.Compare(a.Path, b.Path) })
	if left > 0 {
		list = append(list, ParamProblem{Message: fmt.Sprintf("and %d more", left)})
	}
	return list
}

// misnamed tells of a name that the schema does not allow. The validator says nothing that
// can be relied on about where the name stands.
func misnamed(e *jsonschema.ValidationError, name string, text json.RawMessage) ParamProblem {
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	message := fmt.Sprintf("the name '%s' is not allowed", clip(name))
	switch e.ErrorKind.(type) {
	case *kind.PropertyNames, *kind.FalseSchema:
	default:
		message += ": " + problem(e).Message
	}
	return ParamProblem{Path: clip(holder(text, name)), Message: clip(message)}
}

// holder returns the pointer to the object of a valid JSON text that has a member of this
// name, if there is exactly one.
func holder(text json.RawMessage, name string) string {
	at := -1
	for i := 0; i < len(text); i++ {
		if text[i] != '"' {
			continue
		}
		end, _, err := strictjson.Quoted(text, i)
		if err != nil {
			return ""
		}
		if _, err := strictjson.Colon(text, end); err == nil && string(strictjson.AppendUnescaped(nil, text[i+1:end-1])) == name {
			if at >= 0 {
				return ""
			}
			at = i
		}
		i = end - 1
	}
	if at < 0 {
		return ""
	}
	member := strictjson.PointerTo(text, at)
	return member[:strings.LastIndexByte(member, '/')]
}

func problem(leaf *jsonschema.ValidationError) ParamProblem {
	if _, never := leaf.ErrorKind.(*kind.FalseSchema); never {
		return ParamProblem{Path: clip(pointer(leaf.InstanceLocation)), Message: "nothing may stand here: leave it out"}
	}
	message := "it does not match the schema"
	if out := leaf.BasicOutput(); out.Error != nil {
		message = out.Error.String()
	} else if len(out.Errors) > 0 && out.Errors[0].Error != nil {
		message = out.Errors[0].Error.String()
	}
	return ParamProblem{Path: clip(pointer(leaf.InstanceLocation)), Message: clip(message)}
}

func clip(text string) string {
	if len(text) <= maxProblemMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxProblemMessage], "") + "..."
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func pointer(path []string) string {
	var b strings.Builder
	for _, key := range path {
		b.WriteString("/" + pointerEscapes.Replace(key))
	}
	return b.String()
}

// compileError returns the compiler's error on one line, with paths instead of its URLs.
func compileError(err error) error {
	var invalid *jsonschema.ValidationError
	if wrong, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok && errors.As(wrong.Err, &invalid) {
		var list []string
		for _, p := range telling(problems(invalid, nil)) {
			list = append(list, strings.TrimPrefix(fmt.Sprintf("at %s: %s", p.Path, p.Message), "at : "))
		}
		return errors.New(strings.Join(list, "; "))
	}
	return errors.New(strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), schemaURL, "")), " "))
}

// telling leaves out what comes from forms of a keyword that were not meant: that a type
// is no list where it is no known type, or no type where one in its list is unknown.
func telling(list []ParamProblem) []ParamProblem {
	var kept []ParamProblem
	for i, p := range list {
		mistaken := strings.HasPrefix(p.Message, "got ") && slices.ContainsFunc(list[:i], func(q ParamProblem) bool { return q.Path == p.Path })
		better := slices.ContainsFunc(list[i+1:], func(q ParamProblem) bool {
			return q.Path == p.Path && !strings.HasPrefix(q.Message, "got ") || strings.HasPrefix(q.Path, p.Path+"/")
		})
		if !mistaken && !better {
			kept = append(kept, p)
		}
	}
	return kept
}
