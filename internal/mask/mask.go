// Package mask hides secret values in text that somebody else wrote.
//
// A server that holds a token may repeat it in what it prints and answers, plain or in the
// escapes of the language that it is written in. What goes into errors and logs passes here first:
//
//	secrets := mask.New(token)
//	text = secrets.Mask(text, 0, false)
//
// Found are a secret as it is, as JSON encoders write it (with or without escapes for slashes,
// markup and whatever is not ASCII), and as Go quotes it. Base64, percent-encoding and parts of a
// secret are not. The time is linear in the text for each form of each secret; values are
// safe for concurrent use.
package mask

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Masked stands in the place of a secret.
const Masked = "[redacted]"

// partial is the shortest beginning of a secret that is masked at the end of a text that
// was cut there.
const partial = 4

// Secrets are the forms of secret values, longest first.
type Secrets [][]byte

// New returns the forms of these values. Empty ones hide nothing.
func New(values ...string) Secrets {
	var s Secrets
	for _, v := range values {
		for _, form := range forms(v) {
			if len(form) > 0 && !slices.ContainsFunc(s, func(have []byte) bool { return bytes.Equal(have, form) }) {
				s = append(s, form)
			}
		}
	}
	slices.SortStableFunc(s, func(a, b []byte) int { return cmp.Compare(len(b), len(a)) })
	return s
}

// Longest returns the length of the longest form.
func (s Secrets) Longest() int {
	if len(s) == 0 {
		return 0
	}
	return len(s[0])
}

// forms returns the secret as it is and as encoders write it.
func forms(secret string) [][]byte {
	quoted := strconv.Quote(secret)
	list := [][]byte{[]byte(secret), []byte(quoted[1 : len(quoted)-1])}
	for _, html := range []bool{false, true} {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(html)
		if enc.Encode(secret) != nil {
			continue
		}
		inner := bytes.Clone(bytes.TrimSuffix(b.Bytes(), []byte("\"\n"))[1:])
		for _, form := range [][]byte{inner, bytes.ReplaceAll(inner, []byte("/"), []byte(`\/`))} {
			list = append(list, form, ascii(form, `\u%04x`), ascii(form, `\u%04X`))
		}
	}
	return list
}

// ascii returns JSON with an escape for each unit that is not ASCII.
func ascii(text []byte, escape string) []byte {
	var out []byte
	for _, r := range string(text) {
		if r < utf8.RuneSelf {
			out = append(out, byte(r))
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			out = fmt.Appendf(out, escape, unit)
		}
	}
	return out
}

// Mask returns text from the byte at start on, with secrets replaced. Overlapping secrets are
// replaced as one. Where the text was cut, the beginning of a secret at its end is replaced too.
func (s Secrets) Mask(text []byte, start int, cut bool) []byte {
	secret := s.cover(text, cut)
	out := make([]byte, 0, len(text)-start)
	for i := start; i < len(text); i++ {
		switch {
		case !secret[i]:
			out = append(out, text[i])
		case i == start || !secret[i-1]:
			out = append(out, Masked...)
		}
	}
	return out
}

// cover marks the bytes of text that belong to a secret.
func (s Secrets) cover(text []byte, cut bool) []bool {
	marks := make([]bool, len(text))
	mark := func(from, to int) {
		for i := from; i < to; i++ {
			marks[i] = true
		}
	}
	for _, form := range s {
		for at := 0; ; at++ {
			i := bytes.Index(text[at:], form)
			if i < 0 {
				break
			}
			at += i
			mark(at, at+len(form))
		}
		for n := min(len(form)-1, len(text)); cut && n >= partial; n-- {
			if bytes.HasSuffix(text, form[:n]) {
				mark(len(text)-n, len(text))
				break
			}
		}
	}
	return marks
}
