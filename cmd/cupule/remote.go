package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
	"github.com/sourcegraph/jsonrpc2"
)

// remoteError is what a served registry answered: as it came, and as an error of its kind.
type remoteError struct {
	failure *registry.Error
	wire    *jsonrpc2.Error
	reasons []remoteReason
}

func (e *remoteError) Error() string { return e.failure.Error() }
func (e *remoteError) Unwrap() error { return e.failure }

// remoteReason is one reason of a denial as it travels.
type remoteReason struct {
	Effect    string       `json:"effect"`
	Rule      effects.Rule `json:"rule"`
	Subject   string       `json:"subject"`
	Operation string       `json:"operation"`
}

// line returns the reason as a denial of this process tells it; the peer's words stay words.
func (r remoteReason) line() string {
	reason := effects.Reason{Rule: r.Rule, Operation: r.Operation}
	for kind := effects.Operation; kind <= effects.StreamableHTTP; kind++ {
		if name, ok := strings.CutPrefix(r.Subject, kind.String()+" "); ok {
			reason.Subject = effects.Subject{Kind: kind, Name: name}
		}
	}
	if e, err := effects.Parse(r.Effect); err == nil {
		reason.Effect = e
	}
	if reason.Subject.Kind == 0 || reason.Effect == 0 && r.Effect != "" || !slices.Contains(knownRules, r.Rule) {
		return printable(strings.TrimSpace(fmt.Sprintf("%s: %s %s", r.Rule, r.Subject, r.Effect)))
	}
	return printable(fmt.Sprintf("%s: %s", r.Rule, reason))
}

var knownRules = []effects.Rule{effects.RuleUnavailable, effects.RuleAuthorization, effects.RuleOffline, effects.RuleOutside, effects.RuleOperations}

// standardKinds are the kinds of the codes that JSON-RPC 2.0 itself gives a meaning to.
var standardKinds = map[int64]registry.Kind{
	jsonrpc2.CodeParseError: registry.KindParseError, jsonrpc2.CodeInvalidRequest: registry.KindInvalidRequest,
	jsonrpc2.CodeMethodNotFound: registry.KindMethodNotFound, jsonrpc2.CodeInvalidParams: registry.KindInvalidParams,
	jsonrpc2.CodeInternalError: registry.KindInternal,
}

// remote turns what a served registry answered into an error of its kind.
func remote(ctx context.Context, operation string, err error) error {
	wire, answered := errors.AsType[*jsonrpc2.Error](err)
	if !answered {
		return unanswered(ctx, operation, err)
	}
	failure := &registry.Error{Kind: registry.KindApplication, Operation: operation, Message: fmt.Sprintf("%s (code %d)", printable(wire.Message), wire.Code)}
	var data struct {
		Kind     registry.Kind           `json:"kind"`
		Server   string                  `json:"server"`
		Tool     string                  `json:"tool"`
		Phase    string                  `json:"phase"`
		Limit    *registry.Limit         `json:"limit"`
		Ran      registry.Ran            `json:"ran"`
		Reasons  []remoteReason          `json:"reasons"`
		Problems []registry.ParamProblem `json:"problems"`
	}
	if wire.Data == nil || json.Unmarshal(*wire.Data, &data) != nil || data.Kind == "" || data.Kind.Code() != wire.Code {
		if kind, known := standardKinds[wire.Code]; known {
			failure.Kind = kind
		}
		return &remoteError{failure: failure, wire: wire}
	}
	failure.Kind, failure.Server, failure.Tool, failure.Phase = data.Kind, data.Server, data.Tool, data.Phase
	failure.Limit, failure.Ran, failure.Problems = data.Limit, data.Ran, data.Problems
	return &remoteError{failure: failure, wire: wire, reasons: data.Reasons}
}
