package strictjson

// Space returns the offset of the first byte from at on that is no blank, or len(data).
func Space(data []byte, at int) int {
	for at < len(data) {
		switch data[at] {
		case ' ', '\n', '\r', '\t':
			at++
		default:
			return at
		}
	}
	return at
}

// Value returns the offset behind the JSON value that begins at data[at], which may be
// followed by anything. Arrays and objects may nest at most maxDepth deep.
func Value(data []byte, at, maxDepth int) (end int, err *SyntaxError) {
	if end, ok, err := scalar(data, at); ok {
		return end, err
	}
	s := scanner{data: data, limit: min(maxDepth, MaxDepth)}
	return s.value(at)
}

// scanner scans one value. It keeps a bit for each open array or object in place of a stack.
type scanner struct {
	data    []byte
	depth   int
	limit   int
	objects [MaxDepth/64 + 1]uint64
}

func (s *scanner) value(i int) (int, *SyntaxError) {
	for {
		var more bool
		var err *SyntaxError
		if i, more, err = s.begin(i); err != nil {
			return i, err
		}
		if more {
			continue
		}
		if i, more, err = s.finish(i); err != nil || !more {
			return i, err
		}
	}
}

// begin reads a scalar, or the opening of an array or object up to its first value. More
// says that a value is due at the offset returned.
func (s *scanner) begin(i int) (next int, more bool, err *SyntaxError) {
	if end, ok, err := scalar(s.data, i); ok {
		return end, false, err
	}
	object := s.data[i] == '{'
	if s.depth >= s.limit {
		return i, false, &SyntaxError{Offset: i, Reason: "arrays and objects are nested too deep", TooDeep: true}
	}
	s.push(object)
	i = Space(s.data, i+1)
	switch {
	case i < len(s.data) && s.data[i] == closer(object):
		s.depth--
		return i + 1, false, nil
	case object:
		i, err = key(s.data, i)
		return i, true, err
	default:
		return i, true, nil
	}
}

// finish reads what follows a value: closings, and a comma with the key behind it.
func (s *scanner) finish(i int) (next int, more bool, err *SyntaxError) {
	for s.depth > 0 {
		i = Space(s.data, i)
		object := s.top()
		switch {
		case i >= len(s.data):
			return i, false, fail(i, "the text ends inside an array or object")
		case s.data[i] == ',' && object:
			i, err = key(s.data, Space(s.data, i+1))
			return i, true, err
		case s.data[i] == ',':
			return Space(s.data, i+1), true, nil
		case s.data[i] != closer(object):
			return i, false, fail(i, "a comma or a closing bracket is missing")
		}
		s.depth--
		i++
	}
	return i, false, nil
}

func (s *scanner) push(object bool) {
	bit := uint64(1) << (s.depth & 63)
	if s.objects[s.depth>>6] &^= bit; object {
		s.objects[s.depth>>6] |= bit
	}
	s.depth++
}

func (s *scanner) top() bool {
	d := s.depth - 1
	return s.objects[d>>6]>>(d&63)&1 != 0
}

func closer(object bool) byte {
	if object {
		return '}'
	}
	return ']'
}

// key reads a key and its colon, up to the value.
func key(data []byte, i int) (int, *SyntaxError) {
	if i >= len(data) || data[i] != '"' {
		return i, fail(i, "a key in quotes is missing")
	}
	i, _, err := Quoted(data, i)
	if err != nil {
		return i, err
	}
	return Colon(data, i)
}

// Colon returns the offset of the value behind the colon that follows a key.
func Colon(data []byte, at int) (int, *SyntaxError) {
	at = Space(data, at)
	if at >= len(data) || data[at] != ':' {
		return at, fail(at, "a colon is missing")
	}
	return Space(data, at+1), nil
}

// scalar reads anything but an array or object; ok is false where one of those begins.
func scalar(data []byte, i int) (end int, ok bool, err *SyntaxError) {
	if i >= len(data) {
		return i, true, fail(i, "the text ends where a value is due")
	}
	switch c := data[i]; {
	case c == '"':
		end, _, err = Quoted(data, i)
	case c == '{' || c == '[':
		return i, false, nil
	case c == '-' || isDigit(c):
		end, err = number(data, i)
	case c == 't':
		end, err = word(data, i, "true")
	case c == 'f':
		end, err = word(data, i, "false")
	case c == 'n':
		end, err = word(data, i, "null")
	default:
		end, err = i, fail(i, "a value is missing")
	}
	return end, true, err
}

func word(data []byte, i int, want string) (int, *SyntaxError) {
	if len(data)-i < len(want) || string(data[i:i+len(want)]) != want {
		return i, fail(i, "a value is missing")
	}
	return i + len(want), nil
}
