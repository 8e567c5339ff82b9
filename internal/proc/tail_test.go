package proc

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTail(t *testing.T) {
	for _, tt := range []struct {
		name    string
		secrets []string
		writes  []string
		want    string
	}{
		{"nothing", nil, nil, ""},
		{"plain", nil, []string{"a", "b\n", "c\r\n"}, `ab\nc`},
		{"control bytes", nil, []string{"a\x00\x1b[2J\tb\x7f\u202e\xff"}, `a\x00\x1b[2J\tb\x7f\u202e\xff`},
		{"whole", []string{"token"}, []string{"my token, your token"}, "my [redacted], your [redacted]"},
		{"byte by byte", []string{"token"}, strings.Split("my token.", ""), "my [redacted]."},
		{"beside each other", []string{"token"}, []string{"tokentoken"}, "[redacted]"},
		{"overlapping", []string{"abcd", "cdef"}, []string{"xabcdefx"}, "x[redacted]x"},
		{"one in the other", []string{"bc", "abcd"}, []string{"abcd bc"}, "[redacted] [redacted]"},
		{"of itself", []string{"aba"}, []string{"xababax"}, "x[redacted]x"},
		{"JSON", []string{"a\"b\n<c>"}, []string{`{"x":"a\"b\n<c>","y":"a\"b\n\u003cc\u003e"}`}, `{"x":"[redacted]","y":"[redacted]"}`},
		{"JSON with escaped slashes", []string{"a/b"}, []string{`a/b a\/b`}, "[redacted] [redacted]"},
		{"begun", []string{"token"}, []string{"my toke"}, "my [redacted]"},
		{"hardly begun", []string{"token"}, []string{"my tok"}, "my tok"},
		{"empty", []string{""}, []string{"text"}, "text"},
		{"no text", []string{"\xff\xfe"}, []string{"a\xff\xfeb"}, "a[redacted]b"},
	} {
		tl := newTail(tt.secrets)
		for _, w := range tt.writes {
			tl.write([]byte(w))
		}
		if got := tl.String(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	const secret = "a-secret-of-some-length"
	for shift := range len(secret) + 2 {
		tl := newTail([]string{secret})
		tl.write([]byte(secret + strings.Repeat("x", StderrTail-shift)))
		got := tl.String()
		if len(got) > StderrTail || strings.Contains(got, "length") || strings.Contains(got, "secret-") {
			t.Errorf("cut %d bytes from the end of a secret: %.40q", shift, got)
		}
	}
	tl := newTail(nil)
	for range 1000 {
		tl.write([]byte(strings.Repeat("é", 500)))
	}
	if got := tl.String(); len(got) != StderrTail || !utf8.ValidString(got) || strings.Contains(got, `\x`) {
		t.Errorf("%d bytes, beginning with %.20q", len(got), got)
	}
}

func FuzzTail(f *testing.F) {
	f.Add("token", "my token is", uint8(3))
	f.Add("a\"b", `a\"b`, uint8(1))
	f.Fuzz(func(t *testing.T, secret, text string, step uint8) {
		tl := newTail([]string{secret})
		for rest := []byte(text); len(rest) > 0; {
			n := min(int(step)+1, len(rest))
			tl.write(rest[:n])
			rest = rest[n:]
		}
		got := tl.String()
		if len(got) > StderrTail {
			t.Errorf("%d bytes", len(got))
		}
		for i := range len(got) {
			if got[i] < ' ' || got[i] == 0x7f {
				t.Errorf("control byte in %q", got)
			}
		}
	})
}
