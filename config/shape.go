package config

// kind is the type of a value in the file.
type kind uint8

const (
	kindText kind = iota
	kindFlag
	kindCount
	kindSeconds
	kindSize
	kindEffects
	kindSchema
	kindList
	kindMap    // a mapping whose keys are names that the operator chooses
	kindObject // a mapping whose keys are fields
)

// shape describes the values that may stand in one place. Reading, suggestions, the
// reference and the JSON Schema all come from it.
type shape struct {
	kind kind
	// says names the value in messages: "a number of seconds".
	says string
	// min and max bound counts, seconds and bytes.
	min, max int64
	// enum are the only texts allowed.
	enum []string
	// check is a further rule for text, and for the keys of a map.
	check func(string) error
	// pattern is as much of check as a regular expression can say.
	pattern string
	// hidden values are never quoted in a message: a secret may stand there by mistake.
	hidden bool
	// multiline text may hold line breaks and tabs.
	multiline bool
	// empty text is a value too.
	empty bool
	// example is a value for the reference.
	example string
	// elem describes the items of a list and the values of a map.
	elem *shape
	// key names the keys of a map in the reference: ALIAS.
	key string
	// fields are the keys of an object.
	fields []field
	// unique items of a list stand once only.
	unique bool
	// oneOf are keys of which exactly one is needed, anyOf keys of which at least one is;
	// needs names what a key needs beside it. The builder checks them, in words of its own.
	oneOf, anyOf []string
	needs        map[string][]string
	// plain is the text that may stand in place of an object.
	plain *shape
}

// field is one key of an object.
type field struct {
	name     string
	doc      string
	shape    *shape
	required bool
	// otherwise says what holds where the key is missing.
	otherwise string
}

// field returns the field with this name, or nil.
func (s *shape) field(name string) *field {
	for i := range s.fields {
		if s.fields[i].name == name {
			return &s.fields[i]
		}
	}
	return nil
}

// names yields the names of the fields.
func (s *shape) names(yield func(string) bool) {
	for i := range s.fields {
		if !yield(s.fields[i].name) {
			return
		}
	}
}
