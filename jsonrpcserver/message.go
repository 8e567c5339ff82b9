package jsonrpcserver

import (
	"encoding/json"
	"fmt"

	"github.com/cupule/cupule/internal/strictjson"
	"github.com/cupule/cupule/registry"
	"github.com/sourcegraph/jsonrpc2"
)

// MessageKind is what a message is.
type MessageKind uint8

// The kinds of message.
const (
	// InvalidMessage is none of the others.
	InvalidMessage MessageKind = iota
	// RequestMessage has a method and an id, and is due a reply.
	RequestMessage
	// NotificationMessage has a method and no id.
	NotificationMessage
	// ResultMessage answers a request with a result.
	ResultMessage
	// ErrorMessage answers a request with an error.
	ErrorMessage
)

// String returns the kind's name.
func (k MessageKind) String() string {
	return [...]string{"invalid message", "request", "notification", "result", "error"}[min(k, ErrorMessage)%(ErrorMessage+1)]
}

// Message is one message of JSON-RPC 2.0, of any kind, with its parts as they stand on the wire.
type Message struct {
	// ID is zero for a notification.
	ID ID
	// Method is empty in a response.
	Method string
	// Params is an object or an array; nil when absent.
	Params json.RawMessage
	// ProgressToken asks for $/progress with this token, a string or a number; nil for none.
	ProgressToken json.RawMessage
	// Result is nil in all but a response with a result.
	Result json.RawMessage
	// Error is nil in all but a response with an error.
	Error *jsonrpc2.Error
}

// NewRequest returns a request. Params is anything that marshals to an object or an array;
// nil sends none.
func NewRequest(id ID, method string, params any) (Message, error) {
	if id.IsZero() {
		return Message{}, fmt.Errorf("a request needs an id: make it with NumberID or StringID")
	}
	m, err := NewNotification(method, params)
	m.ID = id
	return m, err
}

// NewNotification returns a notification, which is never answered.
func NewNotification(method string, params any) (Message, error) {
	m := Message{Method: method}
	if params == nil {
		return m, nil
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return Message{}, fmt.Errorf("params of %s: %w", method, err)
	}
	if kind := strictjson.KindOf(raw); kind != strictjson.Object && kind != strictjson.Array {
		return Message{}, fmt.Errorf("params of %s: an object or an array is due, not a %s", method, kind)
	}
	m.Params = raw
	return m, nil
}

// NewResult returns the answer to a request. A json.RawMessage goes out unchanged.
func NewResult(id ID, result any) (Message, error) {
	if raw, ok := result.(json.RawMessage); ok && strictjson.Valid(raw, strictjson.MaxDepth) == nil {
		return Message{ID: id, Result: raw}, nil
	}
	raw, err := json.Marshal(result)
	if err != nil {
		return Message{}, fmt.Errorf("result: %w", err)
	}
	return Message{ID: id, Result: raw}, nil
}

// NewError returns the answer to a request that failed. An error of this module keeps its
// code, a *jsonrpc2.Error travels unchanged, and any other becomes an internal error
// without its text. A zero id goes out as null.
func NewError(id ID, err error) Message { return Message{ID: id, Error: WireError(err)} }

// WireError returns the code, message and data that go out for an error.
func WireError(err error) *jsonrpc2.Error {
	switch e := err.(type) {
	case *registry.Error:
		return wireError(e)
	case *jsonrpc2.Error:
		return e
	}
	return wireError(&registry.Error{Kind: registry.KindInternal, Message: "the service failed"})
}

// Kind tells what the message is.
func (m Message) Kind() MessageKind {
	switch {
	case m.Method != "" && (m.Result != nil || m.Error != nil):
		return InvalidMessage
	case m.Method != "" && m.ID.IsZero():
		return NotificationMessage
	case m.Method != "":
		return RequestMessage
	case m.Error != nil && m.Result == nil:
		return ErrorMessage
	case m.Result != nil && m.Error == nil:
		return ResultMessage
	}
	return InvalidMessage
}

// MarshalJSON returns the message as it goes on the wire. Raw parts keep their bytes where
// it is called directly; json.Marshal compacts them.
func (m Message) MarshalJSON() ([]byte, error) {
	switch m.Kind() {
	case ResultMessage:
		return appendResult(nil, []byte(m.ID.raw), m.Result), nil
	case ErrorMessage:
		id, _ := m.ID.MarshalJSON()
		dst := append(append([]byte(replyStart), id...), `,"error":`...)
		return append(appendWireError(dst, m.Error), replyEnd...), nil
	case InvalidMessage:
		return nil, fmt.Errorf("the message is neither a request nor a response")
	}
	dst := []byte(`{"jsonrpc":"2.0"`)
	if !m.ID.IsZero() {
		dst = append(append(dst, `,"id":`...), m.ID.raw...)
	}
	dst = appendString(append(dst, `,"method":`...), m.Method)
	if m.Params != nil {
		dst = append(append(dst, `,"params":`...), m.Params...)
	}
	if m.ProgressToken != nil {
		dst = append(append(dst, `,"meta":{"progressToken":`...), m.ProgressToken...)
		dst = append(dst, '}')
	}
	return append(dst, '}'), nil
}

// Parse reads one message strictly: the errors are *registry.Error of kind parse_error
// or invalid_request. With an invalid_request the message holds the id where that is valid.
// The message shares memory with data.
func Parse(data []byte) (Message, error) {
	at := strictjson.Space(data, 0)
	e, end, err := scanEnvelope(data, at, MaxDepth)
	if err == nil && strictjson.Space(data, end) < len(data) {
		err = &strictjson.SyntaxError{Offset: end, Reason: "something follows the message"}
	}
	if err != nil {
		return Message{}, parseError(err)
	}
	return e.message()
}

// ParseBatch reads one message or a batch. Faults stand beside their messages; the last
// error is about the whole.
func ParseBatch(data []byte) (messages []Message, faults []error, batch bool, err error) {
	if strictjson.KindOf(data) != strictjson.Array {
		m, fault := Parse(data)
		return []Message{m}, []error{fault}, false, nil
	}
	if err := strictjson.Valid(data, MaxDepth); err != nil {
		return nil, nil, true, parseError(err)
	}
	for element := range strictjson.Elements(data) {
		m, fault := Parse(element)
		messages, faults = append(messages, m), append(faults, fault)
	}
	if len(messages) == 0 {
		return nil, nil, true, invalidRequest("a batch holds at least one message")
	}
	return messages, faults, true, nil
}

func (e *envelope) message() (Message, error) {
	m := Message{Method: string(e.method), Params: e.params, ProgressToken: e.token, Result: e.result, ID: ID{raw: string(e.id)}}
	if e.isResponse() {
		return m, e.completeResponse(&m)
	}
	if e.fault != "" {
		return Message{ID: m.ID}, invalidRequest(e.fault)
	}
	return m, nil
}

// completeResponse judges a response; its fault says that the method is missing, at the least.
func (e *envelope) completeResponse(m *Message) error {
	switch {
	case e.seen&hasVersion == 0 || e.fault != "method is missing":
		return invalidRequest("no valid response: " + e.fault)
	case e.seen&hasID == 0:
		return invalidRequest("a response has an id")
	case e.seen&hasResult != 0 && e.seen&hasError != 0:
		return invalidRequest("a response has a result or an error, not both")
	case e.seen&hasError == 0:
		return nil
	}
	var wire struct {
		Code    *int64          `json:"code"`
		Message *string         `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(e.failure, &wire); err != nil || wire.Code == nil || wire.Message == nil {
		return invalidRequest("an error has a code and a message")
	}
	m.Error = &jsonrpc2.Error{Code: *wire.Code, Message: *wire.Message}
	if wire.Data != nil {
		m.Error.Data = &wire.Data
	}
	return nil
}
