package mask

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestMask(t *testing.T) {
	for _, row := range []struct {
		name    string
		secrets []string
		text    string
		cut     bool
		want    string
	}{
		{"nothing to hide", nil, "text", true, "text"},
		{"an empty one", []string{""}, "text", true, "text"},
		{"as it is", []string{"token"}, "my token, your token", false, "my [redacted], your [redacted]"},
		{"beside each other", []string{"token"}, "tokentoken", false, "[redacted]"},
		{"overlapping", []string{"abcd", "cdef"}, "xabcdefx", false, "x[redacted]x"},
		{"one in the other", []string{"bc", "abcd"}, "abcd bc", false, "[redacted] [redacted]"},
		{"JSON", []string{"a\"b\n<c>"}, `"a\"b\n<c>" "a\"b\n\u003cc\u003e"`, false, `"[redacted]" "[redacted]"`},
		{"slashes", []string{"a/b"}, `a/b a\/b`, false, "[redacted] [redacted]"},
		{"not ASCII", []string{"pässword"}, `pässword p\u00e4ssword p\u00E4ssword`, false, "[redacted] [redacted] [redacted]"},
		{"beyond 16 bits", []string{"key🔑"}, `key🔑 key\ud83d\udd11 key\uD83D\uDD11 `, false, "[redacted] [redacted] [redacted] "},
		{"quoted by Go", []string{"a\x00b\u202e"}, `a\x00b\u202e a\u0000b\u202e`, false, "[redacted] [redacted]"},
		{"no text", []string{"\xff\xfe"}, "a\xff\xfeb", false, "a[redacted]b"},
		{"begun, and cut", []string{"token"}, "my toke", true, "my [redacted]"},
		{"begun", []string{"token"}, "my toke", false, "my toke"},
		{"hardly begun", []string{"token"}, "my tok", true, "my tok"},
	} {
		if got := string(New(row.secrets...).Mask([]byte(row.text), 0, row.cut)); got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}

func TestMaskFrom(t *testing.T) {
	s := New("token")
	for start, want := range []string{"a [redacted] b", " [redacted] b", "[redacted] b", "[redacted] b"} {
		if got := string(s.Mask([]byte("a token b"), start, false)); got != want {
			t.Errorf("from %d: %q, want %q", start, got, want)
		}
	}
	if s.Longest() != 5 || New().Longest() != 0 {
		t.Errorf("the longest form has %d bytes", s.Longest())
	}
}

// FuzzMask hides a secret that stands in a text in whatever form.
func FuzzMask(f *testing.F) {
	f.Add("token", "my token is")
	f.Add("a\"b", `a\"b`)
	f.Add("é/🔑", `\u00e9\/`)
	f.Fuzz(func(t *testing.T, secret, text string) {
		s := New(secret)
		plain, _ := json.Marshal(secret)
		text += secret + string(plain)
		if strings.Contains(text, Masked) || strings.Contains(Masked, secret) {
			return
		}
		// What is left stood in the text side by side, and holds the secret in no form.
		for _, piece := range bytes.Split(s.Mask([]byte(text), 0, false), []byte(Masked)) {
			for _, form := range s {
				if !bytes.Contains([]byte(text), piece) || bytes.Contains(piece, form) {
					t.Errorf("%q of %q with %q", piece, text, form)
				}
			}
		}
	})
}
