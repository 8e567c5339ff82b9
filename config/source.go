package config

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/cupule/cupule/effects"
)

// source is the text of a file with what is needed to find places in it.
type source struct {
	name string
	data []byte
	// lines holds where each line starts, as offsets of bytes and of characters.
	lines []lineStart
	// marks holds the offset of every stride-th character.
	marks []int
}

type lineStart struct{ byte, char int }

// stride bounds the cost of finding one place on a long line.
const stride = 64

// newSource checks the bytes of a file before any parser sees them.
func newSource(name string, text []byte) (*source, []Problem) {
	s := &source{name: name, data: text}
	switch {
	case len(text) > MaxFile:
		return s, s.refuse(0, fmt.Sprintf("the file has more than %d bytes (1 MiB): split the service, or move long schemas into Go", MaxFile))
	case bytes.HasPrefix(text, []byte("\xef\xbb\xbf")):
		return s, s.refuse(0, "the file begins with a byte order mark: save it as UTF-8 without one")
	case bytes.HasPrefix(text, []byte("\xff\xfe")), bytes.HasPrefix(text, []byte("\xfe\xff")):
		return s, s.refuse(0, "the file is UTF-16: save it as UTF-8")
	}
	for offset, char := 0, 0; offset < len(text); char++ {
		if char%stride == 0 {
			s.marks = append(s.marks, offset)
		}
		if offset == 0 || text[offset-1] == '\n' {
			s.lines = append(s.lines, lineStart{offset, char})
			if text[offset] == '%' {
				return s, s.refuse(offset, "a directive begins here: no directive is read, remove the line")
			}
		}
		size, wrong := checkRune(text[offset:])
		if wrong != "" {
			return s, s.refuse(offset, wrong)
		}
		offset += size
	}
	return s, nil
}

// checkRune returns the size of the first character, or what is wrong with it. Anything
// that YAML takes for the end of a line and an editor doesn't would shift every position.
func checkRune(text []byte) (size int, wrong string) {
	if c := text[0]; c >= ' ' && c < 0x7f || c == '\n' || c == '\t' {
		return 1, ""
	}
	r, size := utf8.DecodeRune(text)
	switch {
	case r == utf8.RuneError && size == 1:
		return 0, "these bytes are not UTF-8: save the file as UTF-8"
	case r == '\r' && len(text) > 1 && text[1] == '\n':
		return 1, ""
	case r == '\r':
		return 0, "a carriage return stands alone: end lines with LF or CR LF"
	case r < ' ', r >= 0x7f && r < 0xa0, r == 0x2028, r == 0x2029, r == 0xfeff, r == 0xfffe, r == 0xffff:
		return 0, fmt.Sprintf("control character U+%04X: remove it, or write it as an escape in double quotes", r)
	}
	return size, ""
}

// refuse returns the problem at an offset, found before positions are known.
func (s *source) refuse(offset int, message string) []Problem {
	line, column := s.lineColumn(offset)
	return s.problem(line, column, message)
}

// lineColumn returns the line and the column in bytes, both from 1, of an offset.
func (s *source) lineColumn(offset int) (line, column int) {
	before := s.data[:offset]
	return bytes.Count(before, []byte("\n")) + 1, offset - bytes.LastIndexByte(before, '\n')
}

// offset returns where the character at a line and column, both from 1, stands.
func (s *source) offset(line, column int) int {
	if len(s.lines) == 0 {
		return 0
	}
	char := s.lines[min(max(line, 1), len(s.lines))-1].char + max(column, 1) - 1
	if char/stride >= len(s.marks) {
		return len(s.data)
	}
	offset := s.marks[char/stride]
	for range char % stride {
		if offset >= len(s.data) {
			break
		}
		_, size := utf8.DecodeRune(s.data[offset:])
		offset += size
	}
	return offset
}

// position turns a line and a column in characters into a position in bytes that lies
// inside the file.
func (s *source) position(line, column int) effects.Position {
	line = min(max(line, 1), max(len(s.lines), 1))
	p := effects.Position{File: s.name, Line: line, Column: 1}
	if len(s.lines) > 0 {
		p.Column = max(s.offset(line, column)-s.lines[line-1].byte+1, 1)
	}
	return p
}
