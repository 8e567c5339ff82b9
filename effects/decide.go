package effects

import (
	"fmt"
	"strings"
)

// Kind says what a call would reach.
type Kind uint8

// The kinds of subject. The zero Kind is none, and is always denied.
const (
	// Operation is an operation of the registry: an inbound call.
	Operation Kind = iota + 1
	// Tool is an MCP server's tool: an outbound call.
	Tool
	// Resource is an MCP server's resource.
	Resource
	// Prompt is an MCP server's prompt.
	Prompt
	// Stdio is the transport to an MCP server that runs as a child process.
	Stdio
	// StreamableHTTP is the transport to an MCP server over HTTP. It is unavailable
	// offline, loopback included.
	StreamableHTTP

	lastKind = StreamableHTTP
)

var kindNames = [lastKind + 1]string{"unknown subject", "operation", "tool", "resource", "prompt", "stdio transport", "streamable HTTP transport"}

// String returns the kind's name.
func (k Kind) String() string {
	if k > lastKind {
		k = 0
	}
	return kindNames[k]
}

// MarshalText writes the kind's name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Position is a place in a configuration file. The zero Position is nowhere.
type Position struct {
	File   string
	Line   int // from 1
	Column int // from 1, in bytes
}

// IsZero reports whether the position is nowhere.
func (p Position) IsZero() bool { return p == Position{} }

// String returns file:line:column, or "" for the zero Position.
func (p Position) String() string {
	if p.IsZero() {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// MarshalText writes file:line:column.
func (p Position) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Positions tells where each effect of a subject was declared.
type Positions [last + 1]Position

// Of returns where e was declared, or the zero Position.
func (p *Positions) Of(e Effect) Position {
	if p == nil || e > last {
		return Position{}
	}
	return p[e]
}

// Subject is what a call would reach, with the effects that its operator declared for it.
type Subject struct {
	Kind Kind
	// Name is an operation's name, "server/tool" or the like, or a server's alias for a transport.
	Name    string
	Effects Set
	// Declared tells where the effects stand in the configuration; nil when unknown.
	Declared *Positions
}

// String returns the kind and the name.
func (s Subject) String() string { return s.Kind.String() + " " + s.Name }

// Rule is why a call is denied.
type Rule string

// The rules, in the order in which they are reported for one effect.
const (
	// RuleUnavailable denies credentials, process and anything that is no known effect.
	RuleUnavailable Rule = "unavailable"
	// RuleAuthorization denies mutation and inference to a caller without authority for it.
	RuleAuthorization Rule = "needs_authorization"
	// RuleOffline denies reading from the network, and Streamable HTTP, while offline.
	RuleOffline Rule = "offline"
	// RuleOutside denies an effect that the enclosing operation did not declare.
	RuleOutside Rule = "outside_operation"
	// RuleOperations denies an operation that is not among those its caller may call.
	RuleOperations Rule = "not_among_callers_operations"
	// RuleSubject denies a subject of no known kind.
	RuleSubject Rule = "unknown_subject"
)

// Reason is one rule that denies a call.
type Reason struct {
	Rule    Rule    `json:"rule"`
	Subject Subject `json:"-"`
	// Effect is the effect that the rule is about; zero where the rule is about the whole subject.
	Effect Effect `json:"effect,omitempty"`
	// Operation is the enclosing operation, for RuleOutside.
	Operation string `json:"operation,omitempty"`
	// At is where the effect was declared; zero when unknown.
	At Position `json:"-"`
}

// String explains the reason in one sentence without its position.
func (r Reason) String() string {
	switch r.Rule {
	case RuleUnavailable:
		return fmt.Sprintf("%s has the effect %s, which is never available", r.Subject, r.Effect)
	case RuleAuthorization:
		return fmt.Sprintf("%s has the effect %s, which the caller is not authorized for", r.Subject, r.Effect)
	case RuleOffline:
		if r.Effect == 0 {
			return fmt.Sprintf("%s is unavailable offline", r.Subject)
		}
		return fmt.Sprintf("%s has the effect %s, and the call is offline", r.Subject, r.Effect)
	case RuleOutside:
		return fmt.Sprintf("%s has the effect %s, which operation %s does not declare", r.Subject, r.Effect, r.Operation)
	case RuleOperations:
		return fmt.Sprintf("%s is not among the operations of this caller", r.Subject)
	default:
		return fmt.Sprintf("%s is nothing that can be called", r.Subject)
	}
}

// Decision is the outcome of Decide. The zero Decision denies.
type Decision struct {
	Allowed bool
	// Reasons holds every rule that denies the call, by effect in canonical order and
	// within an effect in the order of the rules; empty when the call is allowed.
	Reasons []Reason
}

// String returns "allowed", or "denied" with every reason and its position.
func (d Decision) String() string {
	if d.Allowed {
		return "allowed"
	}
	var b strings.Builder
	b.WriteString("denied")
	for i, r := range d.Reasons {
		b.WriteString([]string{": ", "; "}[min(i, 1)])
		b.WriteString(r.String())
		if at := r.At.String(); at != "" {
			b.WriteString(" (" + at + ")")
		}
	}
	return b.String()
}

// findings are the rules that speak against one call, as sets of effects.
type findings struct {
	unavailable, unauthorized, offline, outside Set
	transport, operation, subject               bool
}

// Decide says whether a call that would reach s may run on behalf of i. It is pure and
// total, and allocates nothing for a call that is allowed.
func Decide(s Subject, i Invocation) Decision {
	f := findings{
		unavailable:  s.Effects & (unavailable | ^everything),
		unauthorized: s.Effects & authorized &^ i.authorized,
		outside:      s.Effects & i.outside,
		transport:    s.Kind == StreamableHTTP && i.offline,
		operation:    s.Kind == Operation && i.operations != nil && !matchAny(i.operations, s.Name),
		subject:      s.Kind == 0 || s.Kind > lastKind,
	}
	if i.offline {
		f.offline = s.Effects & networkRead
	}
	if f == (findings{}) {
		return Decision{Allowed: true}
	}
	return Decision{Reasons: f.reasons(s, i)}
}

func (f findings) reasons(s Subject, i Invocation) []Reason {
	var list []Reason
	add := func(r Reason) { r.Subject = s; list = append(list, r) }
	if f.subject {
		add(Reason{Rule: RuleSubject})
	}
	if f.operation {
		add(Reason{Rule: RuleOperations})
	}
	if f.transport {
		add(Reason{Rule: RuleOffline})
	}
	for e := Effect(1); e <= 8; e++ {
		bit := Set(1) << (e - 1)
		at := s.Declared.Of(e)
		if f.unavailable&bit != 0 {
			add(Reason{Rule: RuleUnavailable, Effect: e, At: at})
		}
		if f.unauthorized&bit != 0 {
			add(Reason{Rule: RuleAuthorization, Effect: e, At: at})
		}
		if f.offline&bit != 0 {
			add(Reason{Rule: RuleOffline, Effect: e, At: at})
		}
		if f.outside&bit != 0 {
			add(Reason{Rule: RuleOutside, Effect: e, Operation: i.within, At: at})
		}
	}
	return list
}
