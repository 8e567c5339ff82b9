package proc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// StderrTail is how much of the end of standard error is kept, in bytes.
const StderrTail = 16 << 10

// Masked stands in the place of a secret.
const Masked = "[redacted]"

// partial is the shortest beginning of a secret that is masked at the very end of the tail,
// where the rest of it may not have been read yet.
const partial = 4

// tail keeps the end of a stream. It keeps it raw, and long enough that a secret which begins
// before the part that is shown is still recognised: so it doesn't matter how reads split one.
type tail struct {
	secrets [][]byte // longest first
	margin  int      // bytes kept before the part that is shown: the longest secret

	mu  sync.Mutex
	buf []byte // guarded by mu; at most twice what is kept, and one write
}

func newTail(secrets []string) *tail {
	t := &tail{}
	for _, s := range secrets {
		for _, form := range forms(s) {
			if len(form) > 0 && !slices.ContainsFunc(t.secrets, func(have []byte) bool { return bytes.Equal(have, form) }) {
				t.secrets = append(t.secrets, form)
			}
		}
	}
	slices.SortFunc(t.secrets, func(a, b []byte) int { return cmp.Compare(len(b), len(a)) })
	if len(t.secrets) > 0 {
		t.margin = len(t.secrets[0])
	}
	return t
}

// forms returns the secret as it is and as JSON encoders write it.
func forms(secret string) [][]byte {
	list := [][]byte{[]byte(secret)}
	for _, html := range []bool{false, true} {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(html)
		if enc.Encode(secret) == nil {
			inner := bytes.Clone(bytes.TrimSuffix(b.Bytes(), []byte("\"\n"))[1:])
			list = append(list, inner, bytes.ReplaceAll(inner, []byte("/"), []byte(`\/`)))
		}
	}
	return list
}

func (t *tail) write(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if keep := StderrTail + t.margin; len(t.buf) > 2*keep {
		t.buf = t.buf[:copy(t.buf, t.buf[len(t.buf)-keep:])]
	}
}

// String returns the end of the stream, masked and escaped, at most StderrTail bytes.
func (t *tail) String() string {
	t.mu.Lock()
	raw := bytes.Clone(t.buf[max(0, len(t.buf)-StderrTail-t.margin):])
	t.mu.Unlock()
	text := t.mask(raw, max(0, len(raw)-StderrTail))
	return escape(last(bytes.TrimRight(text, "\r\n"), StderrTail))
}

// mask returns raw from the byte at start on, with secrets replaced. Overlapping secrets
// are replaced as one.
func (t *tail) mask(raw []byte, start int) []byte {
	secret := t.cover(raw)
	out := make([]byte, 0, len(raw)-start)
	for i := start; i < len(raw); i++ {
		switch {
		case !secret[i]:
			out = append(out, raw[i])
		case i == start || !secret[i-1]:
			out = append(out, Masked...)
		}
	}
	return out
}

// cover marks the bytes of raw that belong to a secret.
func (t *tail) cover(raw []byte) []bool {
	marks := make([]bool, len(raw))
	mark := func(from, to int) {
		for i := from; i < to; i++ {
			marks[i] = true
		}
	}
	for _, s := range t.secrets {
		for at := 0; ; at++ {
			i := bytes.Index(raw[at:], s)
			if i < 0 {
				break
			}
			at += i
			mark(at, at+len(s))
		}
		for n := min(len(s)-1, len(raw)); n >= partial; n-- {
			if bytes.HasSuffix(raw, s[:n]) {
				mark(len(raw)-n, len(raw))
				break
			}
		}
	}
	return marks
}

// escape writes everything that isn't printable as Go does in a string.
func escape(text []byte) string {
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(text[0])|0x100, 16)[1:])
		case unicode.IsPrint(r):
			b.Write(text[:n])
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		text = text[n:]
	}
	return string(last([]byte(b.String()), StderrTail))
}

// last returns the last n bytes, less the rest of a character that they would begin with.
func last(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	text = text[len(text)-n:]
	for i := 0; i < utf8.UTFMax && i < len(text); i++ {
		if utf8.RuneStart(text[i]) {
			return text[i:]
		}
	}
	return text
}
