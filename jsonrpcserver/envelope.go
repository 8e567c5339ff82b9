package jsonrpcserver

import (
	"bytes"

	"github.com/cupule/cupule/internal/strictjson"
)

// MaxDepth is the deepest nesting of arrays and objects in a message, itself included.
const MaxDepth = 64

// envelope is one message taken apart. Its parts share memory with the text.
type envelope struct {
	id      []byte // nil when absent or no valid id
	method  []byte // unescaped
	params  []byte // nil when absent
	token   []byte // meta.progressToken; nil when absent
	result  []byte
	failure []byte // the member error
	seen    members
	strange bool   // there are members that we don't know
	fault   string // why it is no message of JSON-RPC 2.0; "" when it is one
}

// members is a set of the members that we know.
type members uint8

const (
	hasVersion members = 1 << iota
	hasMethod
	hasParams
	hasID
	hasMeta
	hasResult
	hasError
)

// isResponse reports whether the message answers a request. Such a message is never
// answered itself, whatever else is wrong with it.
func (e *envelope) isResponse() bool {
	return e.seen&hasMethod == 0 && e.seen&(hasResult|hasError) != 0
}

// scanEnvelope takes apart the message that begins at data[at], in one pass. The error is
// about bytes that are no JSON; what is no request is told by the envelope's fault.
func scanEnvelope(data []byte, at, depth int) (e envelope, end int, err *strictjson.SyntaxError) {
	if at >= len(data) || data[at] != '{' {
		end, err = strictjson.Value(data, at, depth)
		e.fault = "a request is an object"
		return e, end, err
	}
	if end, err = e.scanMembers(data, at, depth-1); err != nil {
		return e, end, err
	}
	if e.strange {
		if _, found := strictjson.DuplicateMember(data[at:end]); found {
			e.blame("a key stands twice")
		}
	}
	e.complete()
	return e, end, nil
}

func (e *envelope) scanMembers(data []byte, at, depth int) (int, *strictjson.SyntaxError) {
	i := strictjson.Space(data, at+1)
	if i < len(data) && data[i] == '}' {
		return i + 1, nil
	}
	for {
		if i >= len(data) || data[i] != '"' {
			return i, &strictjson.SyntaxError{Offset: i, Reason: "a key in quotes is missing"}
		}
		keyEnd, escaped, err := strictjson.Quoted(data, i)
		if err != nil {
			return i, err
		}
		value, err := strictjson.Colon(data, keyEnd)
		if err != nil {
			return i, err
		}
		valueEnd, err := strictjson.Value(data, value, depth)
		if err != nil {
			return i, err
		}
		key := data[i+1 : keyEnd-1]
		if escaped {
			key = strictjson.AppendUnescaped(nil, key)
		}
		e.member(key, data[value:valueEnd])
		if i = strictjson.Space(data, valueEnd); i < len(data) && data[i] == '}' {
			return i + 1, nil
		}
		if i >= len(data) || data[i] != ',' {
			return i, &strictjson.SyntaxError{Offset: i, Reason: "a comma or a closing bracket is missing"}
		}
		i = strictjson.Space(data, i+1)
	}
}

// blame notes the first fault.
func (e *envelope) blame(fault string) {
	if e.fault == "" {
		e.fault = fault
	}
}

// member takes one member in.
func (e *envelope) member(key, value []byte) {
	known := membersByName(key)
	if known == 0 {
		e.strange = true
		if looksKnown(key) {
			e.blame("a key looks like one of the protocol's: keys are case-sensitive and exact")
		}
		e.refuseTwins(value)
		return
	}
	if e.seen&known != 0 {
		e.blame("a key stands twice")
		if known == hasID {
			e.id = nil
		}
		return
	}
	e.seen |= known
	switch known {
	case hasVersion:
		if !isString(value, "2.0") {
			e.blame(`jsonrpc must be "2.0"`)
		}
	case hasMethod:
		e.setMethod(value)
	case hasParams:
		e.setParams(value)
	case hasID:
		e.setID(value)
	case hasMeta:
		e.setMeta(value)
	case hasResult:
		e.result = value
	case hasError:
		e.failure = value
	}
}

// refuseTwins blames a value that holds a key twice.
func (e *envelope) refuseTwins(value []byte) {
	if _, found := strictjson.DuplicateKey(value); found {
		e.blame("a key stands twice")
	}
}

func membersByName(key []byte) members {
	switch string(key) {
	case "jsonrpc":
		return hasVersion
	case "method":
		return hasMethod
	case "params":
		return hasParams
	case "id":
		return hasID
	case "meta":
		return hasMeta
	case "result":
		return hasResult
	case "error":
		return hasError
	}
	return 0
}

// looksKnown reports whether another reader may take the key for one that we know: some
// fold case, some stop at NUL, some trim.
func looksKnown(key []byte) bool {
	key = plainKey(key)
	for _, name := range [...]string{"jsonrpc", "method", "params", "id", "meta", "result", "error"} {
		if bytes.EqualFold(key, []byte(name)) {
			return true
		}
	}
	return false
}

// plainKey returns the part of a key that the most lenient reader takes for the whole.
func plainKey(key []byte) []byte {
	const blanks = "\x00 \t\r\n\ufeff"
	key, _, _ = bytes.Cut(bytes.TrimLeft(key, blanks), []byte{0})
	return bytes.TrimRight(key, blanks)
}

func isString(value []byte, want string) bool {
	s, ok := stringValue(value)
	return ok && string(s) == want
}

// stringValue returns what a valid JSON value means, if it is a string.
func stringValue(value []byte) ([]byte, bool) {
	if value[0] != '"' {
		return nil, false
	}
	inner := value[1 : len(value)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner, true
	}
	return strictjson.AppendUnescaped(nil, inner), true
}

func (e *envelope) setMethod(value []byte) {
	method, ok := stringValue(value)
	if !ok {
		e.blame("method must be a string")
		return
	}
	e.method = method
}

func (e *envelope) setParams(value []byte) {
	if value[0] != '{' && value[0] != '[' {
		e.blame("params must be an object or an array, or absent")
		return
	}
	e.params = value
}

func (e *envelope) setID(value []byte) {
	if !isID(value) {
		e.blame("id must be a string, a number or null, or absent")
		return
	}
	e.id = value
}

func (e *envelope) setMeta(value []byte) {
	if value[0] != '{' {
		e.blame("meta must be an object")
		return
	}
	e.refuseTwins(value)
	token, ok := progressToken(value)
	if !ok {
		e.blame("meta.progressToken must be a string or a number, once")
		return
	}
	e.token = token
}

// progressToken returns the member progressToken of an object, nil where there is none;
// ok is false where it stands twice, is neither string nor number, or has a look-alike.
func progressToken(object []byte) (token []byte, ok bool) {
	for m := range strictjson.Members(object) {
		if !bytes.EqualFold(plainKey(m.Key), []byte("progressToken")) {
			continue
		}
		kind := strictjson.KindOf(m.Value)
		if string(m.Key) != "progressToken" || token != nil || kind != strictjson.String && kind != strictjson.Number {
			return nil, false
		}
		token = m.Value
	}
	return token, true
}

// complete judges the envelope as a whole.
func (e *envelope) complete() {
	switch {
	case e.seen&hasVersion == 0:
		e.blame(`jsonrpc is missing: write "2.0"`)
	case e.seen&hasMethod == 0:
		e.blame("method is missing")
	case e.seen&(hasResult|hasError) != 0:
		e.blame("a message is a request or a response, not both")
	}
}

// takeMeta looks for _meta.progressToken in named parameters and returns the parameters
// without _meta. Where _meta stands twice or holds a key twice the parameters stay as they
// are, for the judgement of parameters to refuse.
func takeMeta(params []byte) (rest, token []byte) {
	if len(params) == 0 || params[0] != '{' || !bytes.Contains(params, []byte("_meta")) && !bytes.Contains(params, []byte(`\u`)) {
		return params, nil
	}
	var rebuilt []byte
	for m := range strictjson.Members(params) {
		if string(m.Key) == "_meta" {
			t, ok := progressToken(m.Value)
			if _, twice := strictjson.DuplicateKey(m.Value); token != nil || t == nil || !ok || twice {
				return params, nil
			}
			token = t
			continue
		}
		rebuilt = append(rebuilt, ',')
		rebuilt = append(rebuilt, m.Name...)
		rebuilt = append(rebuilt, ':')
		rebuilt = append(rebuilt, m.Value...)
	}
	if token == nil {
		return params, nil
	}
	if len(rebuilt) == 0 {
		return []byte("{}"), token
	}
	rebuilt[0] = '{'
	return append(rebuilt, '}'), token
}
