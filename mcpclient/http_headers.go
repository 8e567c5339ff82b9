package mcpclient

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cupule/cupule/internal/strictjson"
)

// The newest protocol lets a tool's schema mark parameters that HTTP repeats in headers
// ("x-mcp-header", SEP-2243), for gateways that route without reading bodies.

// binding is one such parameter.
type binding struct {
	path   []string
	header string
}

// maxBindings bounds the headers of one call.
const maxBindings = 64

// bindings returns the marked parameters of a tool's definition, or why the marks are invalid.
func bindings(definition json.RawMessage) ([]binding, error) {
	var list []binding
	seen := map[string]bool{}
	for m := range strictjson.Members(definition) {
		if string(m.Key) == "inputSchema" {
			if err := collect(m.Value, nil, seen, &list); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

func collect(schema json.RawMessage, path []string, seen map[string]bool, list *[]binding) error {
	for m := range strictjson.Members(schema) {
		if string(m.Key) != "properties" {
			continue
		}
		for property := range strictjson.Members(m.Value) {
			at := append(path, string(property.Key))
			if err := mark(property.Value, at, seen, list); err != nil {
				return err
			}
			if err := collect(property.Value, at, seen, list); err != nil {
				return err
			}
		}
	}
	return nil
}

// mark takes the mark of one property, if it has one.
func mark(property json.RawMessage, at []string, seen map[string]bool, list *[]binding) error {
	kind, marked, name := "", false, ""
	for m := range strictjson.Members(property) {
		switch string(m.Key) {
		case "type":
			kind, _ = text(m.Value)
		case "x-mcp-header":
			marked = true
			name, _ = text(m.Value)
		}
	}
	lower := strings.ToLower(name)
	switch {
	case !marked:
		return nil
	case kind != "string" && kind != "integer" && kind != "boolean":
		return fmt.Errorf("x-mcp-header stands at a parameter that is no string, integer or boolean")
	case !isToken(name):
		return fmt.Errorf("x-mcp-header is no name for a header")
	case seen[lower]:
		return fmt.Errorf("two parameters have the same x-mcp-header")
	case len(*list) >= maxBindings:
		return fmt.Errorf("more than %d parameters have an x-mcp-header", maxBindings)
	}
	seen[lower] = true
	*list = append(*list, binding{path: slices.Clone(at), header: name})
	return nil
}

func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		alphanumeric := c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !alphanumeric && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

// paramHeaders returns the headers for the marked parameters that the arguments have.
func paramHeaders(list []binding, args json.RawMessage) []header {
	var headers []header
	for _, b := range list {
		value := args
		for _, key := range b.path {
			value = memberOf(value, key)
		}
		if s, ok := headerValue(value); ok {
			headers = append(headers, header{b.header, headerText(s)})
		}
	}
	return headers
}

func memberOf(object json.RawMessage, key string) json.RawMessage {
	for m := range strictjson.Members(object) {
		if string(m.Key) == key {
			return m.Value
		}
	}
	return nil
}

// headerValue returns a string, boolean or safe integer as a header has it.
func headerValue(value json.RawMessage) (string, bool) {
	switch strictjson.KindOf(value) {
	case strictjson.String:
		return text(value)
	case strictjson.Bool:
		return string(value), true
	case strictjson.Number:
		f, ok := number(value)
		n := int64(f)
		if !ok || f != float64(n) || n > 1<<53-1 || n < -(1<<53-1) {
			return "", false
		}
		return string(appendInt(nil, n)), true
	}
	return "", false
}

// headerText returns s as it may stand in a header: in Base64 where it can't stand there plain.
func headerText(s string) string {
	plain := !strings.HasPrefix(s, "=?base64?") && strings.TrimSpace(s) == s
	for i := 0; plain && i < len(s); i++ {
		plain = s[i] >= ' ' && s[i] <= '~'
	}
	if plain {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}
