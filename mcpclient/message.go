package mcpclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/cupule/cupule/internal/strictjson"
)

// message is one JSON-RPC message, cut into the members of its envelope as they stand in
// it. The parts share memory with the frame; absent ones are nil.
type message struct {
	version, id, method, params, result, fault []byte
	// resultType is a member of the result, and shape what else is known of it.
	resultType []byte
	shape      shape
	// problem says why it is no valid message; empty where it is one. The parts that were
	// read before the problem are set.
	problem string
}

// shape is what a result is seen to hold while its message is read: the first bytes of
// members that a tool's result has, or 0 for absent ones. It spares a second look at large results.
type shape struct {
	isError, content, structured byte
	asks                         bool // for input, as input_required does
}

// parse cuts a message. A problem is no reason to forget the id: its call can be failed.
func parse(frame []byte) (m message) {
	i := strictjson.Space(frame, 0)
	if i == len(frame) || frame[i] != '{' {
		m.problem = "it is no JSON object"
		return m
	}
	end, problem := object(frame, i, func(name []byte, at int) (int, string) { return m.member(frame, name, at) })
	switch {
	case problem != "":
		m.problem = "it is no JSON: " + problem
	case strictjson.Space(frame, end) < len(frame):
		m.problem = "it is no JSON: something follows it"
	case m.problem == "" && string(m.version) != `"2.0"`:
		m.problem = `its "jsonrpc" is not "2.0"`
	}
	return m
}

// messages returns the messages of a frame: the elements of an array, or the frame itself.
func messages(frame []byte) iter.Seq[[]byte] {
	if i := strictjson.Space(frame, 0); i < len(frame) && frame[i] == '[' && strictjson.Valid(frame, maxDepth) == nil {
		return strictjson.Elements(frame)
	}
	return func(yield func([]byte) bool) { yield(frame) }
}

// object reads the object that begins at data[i]. Visit is told of each member and returns the
// offset behind its value, or what is wrong with it; object does so for the whole.
func object(data []byte, i int, visit func(name []byte, at int) (int, string)) (end int, problem string) {
	const broken = "an object is broken"
	i = strictjson.Space(data, i+1)
	if i < len(data) && data[i] == '}' {
		return i + 1, ""
	}
	for {
		name, at := key(data, i)
		if at < 0 {
			return i, broken
		}
		if end, problem = visit(name, at); problem != "" {
			return end, problem
		}
		i = strictjson.Space(data, end)
		switch {
		case i >= len(data) || data[i] != '}' && data[i] != ',':
			return i, broken
		case data[i] == '}':
			return i + 1, ""
		}
		i = strictjson.Space(data, i+1)
	}
}

// member reads the value of one member of the envelope.
func (m *message) member(frame, name []byte, at int) (end int, problem string) {
	if string(name) == "result" && at < len(frame) && frame[at] == '{' {
		m.resultType, m.shape = nil, shape{}
		end, problem = object(frame, at, func(name []byte, at int) (int, string) { return m.resultMember(frame, name, at) })
	} else {
		end, problem = value(frame, at)
	}
	if problem != "" {
		return end, problem
	}
	if part := m.part(name); part != nil {
		if *part != nil {
			m.problem = fmt.Sprintf("it has two members %q", name)
		}
		*part = frame[at:end]
	}
	return end, ""
}

// resultMember reads the value of one member of the result, and notes what counts.
func (m *message) resultMember(frame, name []byte, at int) (end int, problem string) {
	if end, problem = value(frame, at); problem != "" {
		return end, problem
	}
	// Readers of the result behind this one may take the first or the last of two.
	twice := false
	switch string(name) {
	case "resultType":
		twice = m.resultType != nil
		m.resultType = frame[at:end]
	case "isError":
		twice = m.shape.isError != 0
		m.shape.isError = frame[at]
	case "content":
		twice = m.shape.content != 0
		m.shape.content = frame[at]
	case "structuredContent":
		m.shape.structured = frame[at]
	case "inputRequests", "requestState":
		m.shape.asks = true
	}
	if twice {
		m.problem = fmt.Sprintf("its result has two members %q", name)
	}
	return end, ""
}

func value(data []byte, at int) (end int, problem string) {
	end, err := strictjson.Value(data, at, maxDepth)
	if err != nil {
		return end, err.Reason
	}
	return end, ""
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
	Code    int64
	Message string
	Data    json.RawMessage
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

// failure reads the error of a response. Its keys mean what they say: none is taken for another
// one in different letters.
func (m *message) failure() ([]byte, *rpcError, string) {
	var e rpcError
	code, message := 0, 0
	for member := range strictjson.Members(m.fault) {
		switch string(member.Key) {
		case "code":
			n, err := strconv.ParseInt(string(member.Value), 10, 64)
			if err != nil {
				return nil, nil, "its error has a code that is no integer"
			}
			e.Code, code = n, code+1
		case "message":
			s, ok := text(member.Value)
			if !ok {
				return nil, nil, "its error has a message that is no string"
			}
			e.Message, message = s, message+1
		case "data":
			e.Data = bytes.Clone(member.Value)
		}
	}
	if code != 1 || message != 1 {
		return nil, nil, "its error has not one code and one message"
	}
	return nil, &e, ""
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
