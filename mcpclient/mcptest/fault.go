package mcptest

import (
	"encoding/json"
	"time"
)

// Step is a moment in a conversation: the arrival of a message with this method, or one of
// those that have no message.
type Step string

// The steps. Any other method is a step too.
const (
	// Start is when a child has started, before it reads anything.
	Start Step = "start"
	// Close is the end of a child's standard input, or the end of a session over HTTP.
	Close Step = "close"
	// Stream is a GET request for a stream of the server's own messages, over HTTP.
	Stream Step = "stream"
	// Any is the arrival of any request or notification.
	Any Step = "*"

	Initialize    Step = "initialize"
	Initialized   Step = "notifications/initialized"
	Discover      Step = "server/discover"
	ListTools     Step = "tools/list"
	CallTool      Step = "tools/call"
	ListResources Step = "resources/list"
	ListTemplates Step = "resources/templates/list"
	ReadResource  Step = "resources/read"
	ListPrompts   Step = "prompts/list"
	GetPrompt     Step = "prompts/get"
	Cancelled     Step = "notifications/cancelled"
)

// Fault is something that the server does at a step. Several at one step happen in the
// order of the script. Which fields matter, and what their zero means, is said at
// each Behaviour.
type Fault struct {
	At Step      `json:"at"`
	Do Behaviour `json:"do"`
	// Tool limits the fault to calls of this tool.
	Tool string `json:"tool,omitempty"`
	// Skip lets the step pass so many times before the fault happens.
	Skip int `json:"skip,omitempty"`
	// Times is how often it happens; zero means each time.
	Times int `json:"times,omitempty"`

	Size  int64           `json:"size,omitempty"`  // bytes
	Count int             `json:"count,omitempty"` // of messages
	Code  int             `json:"code,omitempty"`  // exit code, HTTP status or error code
	Text  string          `json:"text,omitempty"`
	Delay time.Duration   `json:"delay,omitempty"`
	JSON  json.RawMessage `json:"json,omitempty"`
}

func (f *Fault) concerns(step Step, tool string) bool {
	if f.Tool != "" && f.Tool != tool {
		return false
	}
	silent := step == Start || step == Close || step == Stream
	return f.At == step || f.At == Any && !silent
}

// due returns the faults that happen now, and counts that the step was reached.
func (p *peer) due(step Step, tool string) []Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []Fault
	for i, f := range p.script.Faults {
		if !f.concerns(step, tool) {
			continue
		}
		n := p.reached[i]
		p.reached[i]++
		if n >= f.Skip && (f.Times == 0 || n < f.Skip+f.Times) {
			list = append(list, f)
		}
	}
	return list
}

func orElse[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}
