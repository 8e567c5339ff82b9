package strictjson

import (
	"iter"
	"strconv"
	"strings"
)

// Member is one member of an object. Its fields share memory with the text.
type Member struct {
	// Name is the key as it stands in the text, quotes included.
	Name []byte
	// Key is what the name means.
	Key []byte
	// Value is the value without blanks around it.
	Value []byte
	// At is the offset of Name.
	At int
}

// Members returns the members of the object that a valid text is, in order, equal keys
// included; none where the text is no object.
func Members(data []byte) iter.Seq[Member] {
	return func(yield func(Member) bool) {
		i := Space(data, 0)
		if i >= len(data) || data[i] != '{' {
			return
		}
		for i = Space(data, i+1); i < len(data) && data[i] == '"'; {
			m, next := member(data, i)
			if next < 0 || !yield(m) {
				return
			}
			i = next
		}
	}
}

// member reads one member and the comma behind it; next is -1 where the text is not valid.
func member(data []byte, at int) (m Member, next int) {
	end, escaped, err := Quoted(data, at)
	if err != nil {
		return m, -1
	}
	m = Member{Name: data[at:end], Key: meaning(data[at:end], escaped), At: at}
	begin, err := Colon(data, end)
	if err != nil {
		return m, -1
	}
	m.Value, next = element(data, begin)
	return m, next
}

// meaning returns what a string in its quotes means; without escapes it shares memory.
func meaning(quoted []byte, escaped bool) []byte {
	inner := quoted[1 : len(quoted)-1]
	if escaped {
		return AppendUnescaped(make([]byte, 0, len(inner)), inner)
	}
	return inner
}

// Elements returns the elements of the array that a valid text is, in order, without
// blanks around them; none where the text is no array.
func Elements(data []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		i := Space(data, 0)
		if i >= len(data) || data[i] != '[' {
			return
		}
		for i = Space(data, i+1); i < len(data) && data[i] != ']'; {
			value, next := element(data, i)
			if next < 0 || !yield(value) {
				return
			}
			i = next
		}
	}
}

// element reads one value and the comma behind it; next is -1 where the text is not valid.
func element(data []byte, at int) (value []byte, next int) {
	end, err := Value(data, at, MaxDepth)
	if err != nil {
		return nil, -1
	}
	next = Space(data, end)
	if next < len(data) && data[next] == ',' {
		next = Space(data, next+1)
	}
	return data[at:end], next
}

// AppendCompact appends a valid text without the blanks between its tokens.
func AppendCompact(dst, data []byte) []byte {
	for i := 0; i < len(data); {
		switch data[i] {
		case ' ', '\n', '\r', '\t':
			i++
		case '"':
			end := skipQuoted(data, i)
			dst = append(dst, data[i:end]...)
			i = end
		default:
			dst = append(dst, data[i])
			i++
		}
	}
	return dst
}

// skipQuoted returns the offset behind a string of a valid text.
func skipQuoted(data []byte, at int) int {
	end, _, _ := Quoted(data, at)
	return min(max(end, at+1), len(data))
}

// level is one open array or object on the way to an offset.
type level struct {
	object bool
	key    []byte // as in the text, without quotes
	index  int
}

func (l level) String() string {
	if !l.object {
		return strconv.Itoa(l.index)
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(string(AppendUnescaped(nil, l.key)))
}

// PointerTo returns a JSON pointer to the value or key at this offset of a valid text; of
// any other it makes what it can.
func PointerTo(data []byte, offset int) string {
	var open []level
	due := false // a key is due
	for i := 0; i < len(data) && i <= offset; i++ {
		switch data[i] {
		case '{', '[':
			due = data[i] == '{'
			open = append(open, level{object: due})
		case '}', ']':
			open = open[:max(len(open)-1, 0)]
		case ',':
			if n := len(open) - 1; n >= 0 {
				open[n].index++
				due = open[n].object
			}
		case '"':
			end := skipQuoted(data, i)
			if n := len(open) - 1; due && n >= 0 {
				open[n].key = data[i+1 : max(end-1, i+1)]
				due = false
			}
			i = end - 1
		}
	}
	var b strings.Builder
	for _, l := range open {
		b.WriteString("/" + l.String())
	}
	return b.String()
}
