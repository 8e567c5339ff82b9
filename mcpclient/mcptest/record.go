package mcptest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"sync"
)

// Kind is what an Event tells of.
type Kind string

// The kinds of event.
const (
	// Started: a child has started, with PID, Args, Env and Dir.
	Started Kind = "started"
	// Received: a message came in. Over HTTP, or a request without a message did.
	Received Kind = "received"
	// Replied: the client replied to a request of the server's own.
	Replied Kind = "replied"
	// Forked: a child has started the process PID, which holds its pipes.
	Forked Kind = "forked"
	// Abandoned: over HTTP, the client left while the server was still at its request.
	Abandoned Kind = "abandoned"
	// Ended: a child saw the end of its standard input.
	Ended Kind = "ended"
)

// keepMessage is the longest message that is kept whole in an event.
const keepMessage = 64 << 10

// Event is something that a server saw.
type Event struct {
	Kind   Kind            `json:"kind"`
	Method string          `json:"method,omitempty"`
	ID     json.RawMessage `json:"id,omitempty"`
	// Message is the message as it came, if it was JSON and below 64 KiB.
	Message json.RawMessage `json:"message,omitempty"`
	// Size is the message's, in bytes.
	Size int `json:"size,omitempty"`
	// HTTP and Header are those of the request, such as "POST /mcp".
	HTTP   string      `json:"http,omitempty"`
	Header http.Header `json:"header,omitempty"`
	PID    int         `json:"pid,omitempty"`
	Args   []string    `json:"args,omitempty"`
	Env    []string    `json:"env,omitempty"`
	Dir    string      `json:"dir,omitempty"`
}

// Record is what a server saw, in order.
type Record []Event

// ReadRecord reads what children wrote to the file of Script.Record. A file that isn't there
// is an empty record, and a line that is still being written isn't in it yet.
func ReadRecord(path string) (Record, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var record Record
	for line := range bytes.Lines(data[:bytes.LastIndexByte(data, '\n')+1]) {
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return record, fmt.Errorf("mcptest: %s: %w", path, err)
		}
		record = append(record, e)
	}
	return record, nil
}

// Of returns the events of a kind.
func (r Record) Of(kind Kind) Record {
	return slices.DeleteFunc(slices.Clone(r), func(e Event) bool { return e.Kind != kind })
}

// Count returns how many messages of a method came in, such as "tools/call".
func (r Record) Count(method string) int {
	n := 0
	for _, e := range r.Of(Received) {
		if e.Method == method {
			n++
		}
	}
	return n
}

// Cancelled returns the ids, as JSON, of the requests that the client cancelled by a notification.
func (r Record) Cancelled() []string {
	var ids []string
	for _, e := range r.Of(Received) {
		if e.Method != string(Cancelled) {
			continue
		}
		var m struct {
			Params struct{ RequestID json.RawMessage }
		}
		_ = json.Unmarshal(e.Message, &m)
		ids = append(ids, string(m.Params.RequestID))
	}
	return ids
}

// Answers returns the client's replies to the server's own requests of a method.
func (r Record) Answers(method string) []json.RawMessage {
	var replies []json.RawMessage
	for _, e := range r.Of(Replied) {
		if e.Method == method {
			replies = append(replies, e.Message)
		}
	}
	return replies
}

// PIDs returns the processes of the children, and those that they forked.
func (r Record) PIDs() []int {
	var pids []int
	for _, e := range r {
		if e.Kind == Started || e.Kind == Forked {
			pids = append(pids, e.PID)
		}
	}
	return pids
}

// recorder keeps events in memory, or appends them to a file, each in one write.
type recorder struct {
	path string

	mu     sync.Mutex
	events Record // guarded by mu
}

func (r *recorder) add(e Event) {
	if len(e.Message) > keepMessage || !json.Valid(e.Message) {
		e.Message = nil
	}
	if !json.Valid(e.ID) {
		e.ID = nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.path == "" {
		r.events = append(r.events, e)
		return
	}
	f, err := os.OpenFile(r.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mcptest: no record:", err)
		return
	}
	defer f.Close()
	_, _ = f.Write(append(encode(e), '\n'))
}

func (r *recorder) received(m message, http string, header http.Header) {
	r.add(Event{Kind: Received, Method: m.Method, ID: m.ID, Message: m.raw, Size: len(m.raw), HTTP: http, Header: header})
}

func (r *recorder) record() Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}
