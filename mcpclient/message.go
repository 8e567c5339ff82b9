package mcpclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cupule/cupule/internal/strictjson"
)

// message is one JSON-RPC message, cut into the members of its envelope as they stand in
// it. The parts share memory with the frame; absent ones are nil.
type message struct {
	version, id, method, params, result, fault []byte
	// problem says why it is no valid message; empty where it is one. The parts that were
	// read before the problem are set.
	problem string
}

// parse cuts a message. A problem is no reason to forget the id: its call can be failed.
func parse(frame []byte) (m message) {
	i := strictjson.Space(frame, 0)
	if i == len(frame) || frame[i] != '{' {
		m.problem = "it is no JSON object"
		return m
	}
	i = strictjson.Space(frame, i+1)
	for first := true; i < len(frame) && frame[i] != '}'; first = false {
		if !first {
			if frame[i] != ',' {
				m.problem = "it is no JSON"
				return m
			}
			i = strictjson.Space(frame, i+1)
		}
		if i = m.member(frame, i); i < 0 {
			return m
		}
	}
	if i >= len(frame) || strictjson.Space(frame, i+1) < len(frame) {
		m.problem = "it is no JSON"
		return m
	}
	if m.problem == "" && string(m.version) != `"2.0"` {
		m.problem = `its "jsonrpc" is not "2.0"`
	}
	return m
}

// member reads one member and returns the offset behind it, or -1.
func (m *message) member(frame []byte, i int) int {
	name, i := key(frame, i)
	if i < 0 {
		m.problem = "it is no JSON"
		return -1
	}
	end, err := strictjson.Value(frame, i, maxDepth)
	if err != nil {
		m.problem = "it is no JSON: " + err.Reason
		return -1
	}
	if part := m.part(name); part != nil {
		if *part != nil {
			m.problem = fmt.Sprintf("it has two members %q", name)
		}
		*part = frame[i:end]
	}
	return strictjson.Space(frame, end)
}

// key reads a key and its colon, and returns the key's meaning and the offset of the value, or -1.
func key(data []byte, i int) ([]byte, int) {
	if i >= len(data) || data[i] != '"' {
		return nil, -1
	}
	end, escaped, err := strictjson.Quoted(data, i)
	if err != nil {
		return nil, -1
	}
	name := data[i+1 : end-1]
	if escaped {
		name = strictjson.AppendUnescaped(nil, name)
	}
	if i, err = strictjson.Colon(data, end); err != nil {
		return nil, -1
	}
	return name, i
}

func (m *message) part(name []byte) *[]byte {
	switch string(name) {
	case "jsonrpc":
		return &m.version
	case "id":
		return &m.id
	case "method":
		return &m.method
	case "params":
		return &m.params
	case "result":
		return &m.result
	case "error":
		return &m.fault
	}
	return nil
}

// ownID returns an id as one of ours: digits only, so that neither "3" nor 3.0 is 3.
func ownID(raw []byte) (int64, bool) {
	if len(raw) == 0 || len(raw) > 18 || raw[0] == '0' {
		return 0, false
	}
	var n int64
	for _, c := range raw {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// text returns what a JSON string means; ok is false for any other value.
func text(raw []byte) (s string, ok bool) {
	if strictjson.KindOf(raw) != strictjson.String {
		return "", false
	}
	return string(strictjson.AppendUnescaped(nil, raw[1:len(raw)-1])), true
}

// rpcError is an error that a server answered with.
type rpcError struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("the server's error %d", e.Code) }

// answer returns the result of a response, or the server's error, or what is wrong with it.
func (m *message) answer() (result []byte, fault *rpcError, problem string) {
	switch {
	case m.problem != "":
		return nil, nil, m.problem
	case m.result != nil && m.fault != nil:
		return nil, nil, "it has both a result and an error"
	case m.fault != nil:
		return m.failure()
	case m.result == nil:
		return nil, nil, "it has neither a result nor an error"
	case m.result[0] != '{':
		return nil, nil, "its result is " + article(strictjson.KindOf(m.result))
	}
	return m.result, nil, ""
}

func (m *message) failure() ([]byte, *rpcError, string) {
	var e struct {
		Code    *int64          `json:"code"`
		Message *string         `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(m.fault, &e); err != nil || e.Code == nil || e.Message == nil {
		return nil, nil, "its error has no integer code and no message"
	}
	return nil, &rpcError{Code: *e.Code, Message: *e.Message, Data: bytes.Clone(e.Data)}, ""
}

func article(k strictjson.Kind) string {
	name := k.String()
	if k == strictjson.Null {
		return name
	}
	if strings.ContainsRune("aeiou", rune(name[0])) {
		return "an " + name
	}
	return "a " + name
}

// appendText appends s as a JSON string.
func appendText(dst []byte, s string) []byte {
	plain := true
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			plain = false
			break
		}
	}
	if plain {
		return append(append(append(dst, '"'), s...), '"')
	}
	quoted, _ := json.Marshal(s)
	return append(dst, quoted...)
}

// appendLine appends valid JSON, with blanks in place of line ends. Inside strings there are none.
func appendLine(dst, value []byte) []byte {
	from := len(dst)
	dst = append(dst, value...)
	for _, end := range []byte("\r\n") {
		for i := from; ; {
			next := bytes.IndexByte(dst[i:], end)
			if next < 0 {
				break
			}
			i += next
			dst[i] = ' '
		}
	}
	return dst
}
