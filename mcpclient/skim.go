package mcpclient

import (
	"bytes"

	"github.com/cupule/cupule/internal/strictjson"
)

// skimmer looks for the id of a frame that is too long to be kept, piece by piece. It
// holds a few bytes whatever the frame holds.
type skimmer struct {
	depth   int
	str     bool // inside a string
	escaped bool // behind a backslash
	key     bool // a key of the envelope is due or being read
	want    int8 // the member whose value is being read
	text    []byte

	id     []byte
	method bool
	broken bool // two ids: it belongs to no call
}

const (
	other int8 = iota
	idMember
)

// maxSkimmed is how many bytes of a key or an id are looked at.
const maxSkimmed = 64

// Write takes the next piece of the frame.
func (s *skimmer) Write(piece []byte) {
	for i := 0; i < len(piece); {
		if s.str {
			i += s.inString(piece[i:])
			continue
		}
		s.token(piece[i])
		i++
	}
}

// inString reads on in a string and returns how far.
func (s *skimmer) inString(piece []byte) int {
	if s.escaped {
		s.escaped = false
		s.keep(piece[:1])
		return 1
	}
	n := stringEnd(piece)
	s.keep(piece[:n])
	if n == len(piece) {
		return n
	}
	s.keep(piece[n : n+1])
	if piece[n] == '\\' {
		s.escaped = true
	} else {
		s.str = false
		s.closeString()
	}
	return n + 1
}

// stringEnd returns the offset of the first quote or backslash, or the length.
func stringEnd(piece []byte) int {
	quote := bytes.IndexByte(piece, '"')
	if quote < 0 {
		quote = len(piece)
	}
	if slash := bytes.IndexByte(piece[:quote], '\\'); slash >= 0 {
		return slash
	}
	return quote
}

func (s *skimmer) keep(piece []byte) {
	if s.depth != 1 || (!s.key && s.want == other) {
		return
	}
	s.text = append(s.text, piece[:min(len(piece), maxSkimmed-len(s.text))]...)
}

func (s *skimmer) closeString() {
	if s.depth != 1 || !s.key {
		return
	}
	s.key = false
	end, escaped, err := strictjson.Quoted(s.text, 0)
	if err != nil || end != len(s.text) {
		s.text = s.text[:0]
		return
	}
	name := s.text[1 : end-1]
	if escaped {
		name = strictjson.AppendUnescaped(nil, name)
	}
	switch string(name) {
	case "id":
		s.want = idMember
	case "method":
		s.method = true
	}
	s.text = s.text[:0]
}

// token takes a byte outside strings.
func (s *skimmer) token(c byte) {
	switch c {
	case '"':
		s.str = true
		s.keep([]byte{c})
	case '{', '[':
		s.depth++
		s.key = s.depth == 1 && c == '{'
	case '}', ']':
		if s.depth == 1 {
			s.endMember()
		}
		s.depth--
	case ',':
		if s.depth == 1 {
			s.endMember()
			s.key = true
		}
	case ':', ' ', '\t', '\r', '\n':
	default:
		s.keep([]byte{c})
	}
}

func (s *skimmer) endMember() {
	if s.want == idMember {
		s.broken = s.broken || s.id != nil
		s.id = append([]byte{}, s.text...)
	}
	s.want, s.text, s.key = other, s.text[:0], false
}

// call returns the id of the call that the frame read so far answers.
func (s *skimmer) call() (int64, bool) {
	if s.method || s.broken {
		return 0, false
	}
	return ownID(s.id)
}
