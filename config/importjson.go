package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// member is one key of a JSON object with its value.
type member struct {
	key   string
	value json.RawMessage
}

// relaxed returns JSON with comments and trailing commas blanked out, so that offsets stay.
func relaxed(data []byte) []byte {
	out := bytes.Clone(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	comma := -1 // a comma with only blanks behind it so far
	for i := 0; i < len(out); {
		switch size := commentLength(out[i:]); {
		case size > 0:
			blankOut(out[i : i+size])
			i += size
			continue
		case out[i] == '"':
			i += quoted(out[i:])
			comma = -1
			continue
		case out[i] == ',':
			comma = i
		case (out[i] == '}' || out[i] == ']') && comma >= 0:
			out[comma] = ' '
			comma = -1
		case bytes.IndexByte([]byte(" \t\r\n"), out[i]) < 0:
			comma = -1
		}
		i++
	}
	return out
}

// commentLength returns the length of the comment that text begins with, or 0.
func commentLength(text []byte) int {
	switch {
	case bytes.HasPrefix(text, []byte("//")):
		return lineLength(text)
	case bytes.HasPrefix(text, []byte("/*")):
		if i := bytes.Index(text, []byte("*/")); i > 0 {
			return i + 2
		}
		return len(text)
	}
	return 0
}

func blankOut(text []byte) {
	for i, c := range text {
		if c != '\n' {
			text[i] = ' '
		}
	}
}

// members returns the keys of an object in their order. A key that stands twice is an error.
func members(raw json.RawMessage) ([]member, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if t, err := decoder.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("an object is due here")
	}
	var list []member
	seen := map[string]bool{}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		m := member{key: key.(string)} // a key of valid JSON is text
		if err := decoder.Decode(&m.value); err != nil {
			return nil, err
		}
		if seen[m.key] {
			return nil, fmt.Errorf("the key %q stands twice", clip(m.key))
		}
		seen[m.key] = true
		if !isJSONNull(m.value) {
			list = append(list, m)
		}
	}
	return list, nil
}

func isJSONNull(raw json.RawMessage) bool { return string(raw) == "null" }

// jsonPlace adds line and column to an error of encoding/json.
func jsonPlace(text []byte, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	before := text[:min(max(int(syntax.Offset)-1, 0), len(text))]
	line := bytes.Count(before, []byte("\n")) + 1
	return fmt.Errorf("line %d, column %d: %w", line, len(before)-bytes.LastIndexByte(before, '\n'), err)
}
