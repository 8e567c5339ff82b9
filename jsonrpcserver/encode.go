package jsonrpcserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/internal/strictjson"
	"github.com/cupule/cupule/registry"
	"github.com/sourcegraph/jsonrpc2"
)

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < ' ' || r == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

func appendID(dst, id []byte) []byte {
	if id == nil {
		return append(dst, "null"...)
	}
	return append(dst, id...)
}

// The reply to a request with a result is these parts around id and result.
const (
	replyStart  = `{"jsonrpc":"2.0","id":`
	replyResult = `,"result":`
	replyEnd    = `}`
)

// oneLine returns a JSON text without line ends, which may stand between its tokens only.
func oneLine(text []byte) []byte {
	if bytes.IndexByte(text, '\n') < 0 && bytes.IndexByte(text, '\r') < 0 {
		return text
	}
	return strictjson.AppendCompact(make([]byte, 0, len(text)), text)
}

// appendResult appends a reply with a result.
func appendResult(dst, id []byte, result json.RawMessage) []byte {
	dst = appendID(append(dst, replyStart...), id)
	dst = append(dst, replyResult...)
	return append(append(dst, result...), replyEnd...)
}

// newResult returns a reply with a result, in memory of its size.
func newResult(id []byte, result json.RawMessage) []byte {
	size := len(replyStart) + len(id) + len(replyResult) + len(result) + len(replyEnd)
	return appendResult(make([]byte, 0, size), id, result)
}

// appendError appends a reply with an error.
func appendError(dst, id []byte, err *registry.Error) []byte {
	dst = appendID(append(dst, replyStart...), id)
	dst = append(dst, `,"error":`...)
	return append(appendWireError(dst, wireError(err)), replyEnd...)
}

func appendWireError(dst []byte, err *jsonrpc2.Error) []byte {
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, err.Code, 10)
	dst = append(dst, `,"message":`...)
	dst = appendString(dst, err.Message)
	if err.Data != nil {
		dst = append(append(dst, `,"data":`...), *err.Data...)
	}
	return append(dst, '}')
}

// wireError is the one place where an error becomes code, message and data. An error of
// kind application is the handler's own and travels unchanged.
func wireError(err *registry.Error) *jsonrpc2.Error {
	if err.Kind == registry.KindApplication {
		if own, ok := errors.AsType[*jsonrpc2.Error](err.Err); ok && validData(own.Data) {
			return own
		}
		err = &registry.Error{Kind: registry.KindInternal, Operation: err.Operation, Message: "the operation failed inside the service"}
	}
	message := err.Message
	if message == "" {
		message = string(err.Kind)
	}
	data := errorData(err)
	return &jsonrpc2.Error{Code: err.Kind.Code(), Message: message, Data: &data}
}

func validData(data *json.RawMessage) bool {
	return data == nil || strictjson.Valid(*data, strictjson.MaxDepth) == nil
}

// wireData is the member data of an error.
type wireData struct {
	Kind         registry.Kind           `json:"kind"`
	Operation    string                  `json:"operation,omitempty"`
	Server       string                  `json:"server,omitempty"`
	Tool         string                  `json:"tool,omitempty"`
	Phase        string                  `json:"phase,omitempty"`
	Limit        *registry.Limit         `json:"limit,omitempty"`
	Ran          registry.Ran            `json:"ran,omitempty"`
	Reasons      []wireReason            `json:"reasons,omitempty"`
	Problems     []registry.ParamProblem `json:"problems,omitempty"`
	RetryAfterMS int64                   `json:"retry_after_ms,omitempty"`
}

type wireReason struct {
	Effect    string       `json:"effect,omitempty"`
	Rule      effects.Rule `json:"rule"`
	Subject   string       `json:"subject"`
	Operation string       `json:"operation,omitempty"`
}

func errorData(err *registry.Error) json.RawMessage {
	data := wireData{
		Kind: err.Kind, Operation: err.Operation, Server: err.Server, Tool: err.Tool, Phase: err.Phase,
		Limit: err.Limit, Ran: err.Ran, Problems: err.Problems, RetryAfterMS: err.RetryAfter.Milliseconds(),
	}
	for _, r := range err.Reasons {
		w := wireReason{Rule: r.Rule, Subject: r.Subject.String(), Operation: r.Operation}
		if r.Effect != 0 {
			w.Effect = r.Effect.String()
		}
		data.Reasons = append(data.Reasons, w)
	}
	text, failed := json.Marshal(data)
	if failed != nil {
		return json.RawMessage(`{"kind":"internal"}`)
	}
	return text
}
