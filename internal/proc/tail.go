package proc

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/cupule/cupule/internal/mask"
)

// StderrTail is how much of the end of standard error is kept, in bytes.
const StderrTail = 16 << 10

// tail keeps the end of a stream. It keeps it raw, and long enough that a secret which begins
// before the part that is shown is still recognised: so it doesn't matter how reads split one.
type tail struct {
	secrets mask.Secrets
	margin  int // bytes kept before the part that is shown: the longest secret

	mu  sync.Mutex
	buf []byte // guarded by mu; at most twice what is kept, and one write
}

func newTail(secrets []string) *tail {
	t := &tail{secrets: mask.New(secrets...)}
	t.margin = t.secrets.Longest()
	return t
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
	// The rest of a secret at the end may not have been read yet.
	text := t.secrets.Mask(raw, max(0, len(raw)-StderrTail), true)
	return escape(last(bytes.TrimRight(text, "\r\n"), StderrTail))
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
