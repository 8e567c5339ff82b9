package registry

import (
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds on what is told about wrong parameters.
const (
	maxProblems       = 50
	maxProblemMessage = 300 // bytes
)

// problems lists the paths at which a value does not match, at most maxProblems.
func problems(invalid *jsonschema.ValidationError) []ParamProblem {
	var list []ParamProblem
	left := 0
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) > 0 {
			return
		}
		if len(list) == maxProblems {
			left++
			return
		}
		list = append(list, problem(e))
	}
	walk(invalid)
	if left > 0 {
		list = append(list, ParamProblem{Message: fmt.Sprintf("and %d more", left)})
	}
	return list
}

func problem(leaf *jsonschema.ValidationError) ParamProblem {
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
