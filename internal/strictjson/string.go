package strictjson

import (
	"encoding/binary"
	"math/bits"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Quoted returns the offset behind the string whose opening quote is data[at], and
// whether it holds escapes.
func Quoted(data []byte, at int) (end int, escaped bool, err *SyntaxError) {
	i := at + 1
	for {
		if i = plain(data, i); i >= len(data) {
			return i, escaped, fail(i, "the text ends inside a string")
		}
		switch c := data[i]; {
		case c == '"':
			return i + 1, escaped, nil
		case c == '\\':
			escaped = true
			if i, err = escape(data, i); err != nil {
				return i, escaped, err
			}
		case c < ' ':
			return i, escaped, fail(i, "a string holds a control character, which must be escaped")
		default:
			r, n := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && n == 1 {
				return i, escaped, fail(i, "a string holds invalid UTF-8")
			}
			i += n
		}
	}
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// plain returns the offset of the first byte from i on that is a quote, a backslash, a
// control character or not ASCII. Within a word, borrows run upwards only, so the lowest
// byte that is marked is marked rightly.
func plain(data []byte, i int) int {
	for ; i+8 <= len(data); i += 8 {
		w := binary.LittleEndian.Uint64(data[i:])
		quote, slash := w^ones*'"', w^ones*'\\'
		marks := w | (w - ones*' ') | (quote-ones)&^quote | (slash-ones)&^slash
		if marks &= highs; marks != 0 {
			return i + bits.TrailingZeros64(marks)>>3
		}
	}
	for i < len(data) {
		if c := data[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			break
		}
		i++
	}
	return i
}

// escape returns the offset behind the escape whose backslash is data[i].
func escape(data []byte, i int) (int, *SyntaxError) {
	if i+1 >= len(data) {
		return i, fail(i, "the text ends inside a string")
	}
	switch data[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2, nil
	case 'u':
		if hex4(data[i+2:]) >= 0 {
			return i + 6, nil
		}
	}
	return i, fail(i, "a string holds an unknown escape")
}

// hex4 returns the value of four hexadecimal digits, or -1.
func hex4(s []byte) rune {
	if len(s) < 4 {
		return -1
	}
	var r rune
	for _, c := range s[:4] {
		switch {
		case isDigit(c):
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

var simple = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// AppendUnescaped appends the meaning of a valid string, given without its quotes. The
// escape of a lone surrogate becomes U+FFFD.
func AppendUnescaped(dst, inner []byte) []byte {
	for i := 0; i < len(inner); {
		c := inner[i]
		if c != '\\' || i+1 >= len(inner) {
			dst = append(dst, c)
			i++
			continue
		}
		if inner[i+1] != 'u' {
			dst = append(dst, simple[inner[i+1]])
			i += 2
			continue
		}
		r, n := escapedRune(inner[i:])
		dst = utf8.AppendRune(dst, r)
		i += n
	}
	return dst
}

// escapedRune reads \uXXXX, or a pair of them that is one character.
func escapedRune(s []byte) (rune, int) {
	r := hex4(s[2:])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(s[8:])); pair != unicode.ReplacementChar {
			return pair, 12
		}
	}
	return unicode.ReplacementChar, 6
}
