package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"unicode/utf8"
)

func seed(f *testing.F) {
	for _, class := range []map[string][]string{accept, refuse} {
		for _, texts := range class {
			for _, text := range texts {
				f.Add([]byte(text))
			}
		}
	}
	f.Add([]byte(`{"a":1,"a":[{"b":2,"\u0062":3}]}`))
}

// FuzzValid compares with encoding/json: what is accepted here is accepted there, and what
// is refused here is refused there or is invalid UTF-8 or too deep.
func FuzzValid(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		err := Valid(data, 64)
		if err == nil {
			if !json.Valid(data) || !utf8.Valid(data) {
				t.Fatalf("accepted %q", data)
			}
			if compact := AppendCompact(nil, data); Valid(compact, 64) != nil || !reflect.DeepEqual(tree(t, data), tree(t, compact)) {
				t.Fatalf("%q in short is %q", data, compact)
			}
			return
		}
		var syntax *SyntaxError
		if errors.As(err, &syntax); !syntax.TooDeep && utf8.Valid(data) && json.Valid(data) {
			t.Fatalf("refused %q: %v", data, err)
		}
	})
}

// FuzzWalk takes texts apart and compares every part and the repeated keys with what
// encoding/json's tokens say.
func FuzzWalk(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		HugeNumber(data, 100)
		AppendCompact(nil, data)
		if Valid(data, 64) != nil {
			return
		}
		want := repeats(t, json.NewDecoder(bytes.NewReader(data)))
		if pointer, found := DuplicateKey(data); found != want {
			t.Fatalf("%q: repeated key %q %v, want %v", data, pointer, found, want)
		}
		if !want && !reflect.DeepEqual(tree(t, data), rebuild(t, data)) {
			t.Fatalf("%q falls into other parts", data)
		}
	})
}

// tree is the text as encoding/json reads it, numbers kept as they stand.
func tree(t *testing.T, data []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	return v
}

// rebuild is the same tree, put together from Members and Elements.
func rebuild(t *testing.T, data []byte) any {
	switch KindOf(data) {
	case Object:
		v := map[string]any{}
		for m := range Members(data) {
			v[string(m.Key)] = rebuild(t, m.Value)
		}
		return v
	case Array:
		v := []any{}
		for e := range Elements(data) {
			v = append(v, rebuild(t, e))
		}
		return v
	}
	return tree(t, data)
}

// repeats reads one value and reports whether any of its objects repeats a key.
func repeats(t *testing.T, d *json.Decoder) bool {
	d.UseNumber()
	token, err := d.Token()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	switch token {
	case json.Delim('{'):
		seen := map[any]bool{}
		for d.More() {
			key, _ := d.Token()
			found = found || seen[key]
			seen[key] = true
			found = repeats(t, d) || found
		}
		_, _ = d.Token()
	case json.Delim('['):
		for d.More() {
			found = repeats(t, d) || found
		}
		_, _ = d.Token()
	}
	return found
}
