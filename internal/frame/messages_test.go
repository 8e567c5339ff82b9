package frame

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func header(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }

// readMessages returns what Next gives, one line each, until an error that is final.
func readMessages(m *Messages, limit int) []string {
	var got []string
	for {
		data, err := m.Next(limit)
		var broken *BrokenError
		switch {
		case err == nil:
			got = append(got, string(data))
		case errors.Is(err, ErrTooLong):
			got = append(got, "too long")
		case errors.As(err, &broken):
			return append(got, "broken")
		case errors.Is(err, io.ErrUnexpectedEOF):
			return append(got, "half "+string(data))
		default:
			return append(got, err.Error())
		}
	}
}

func TestMessages(t *testing.T) {
	long := strings.Repeat("x", 21)
	for _, test := range []struct {
		name, in string
		want     []string
	}{
		{"empty", "", []string{"EOF"}},
		{"blank", " \r\n\n\t ", []string{"EOF"}},
		{"lines", "a\nb\r\n\n\n c \n", []string{"a", "b\r", "c ", "EOF"}},
		{"half a line", "a\nb", []string{"a", "half b"}},
		{"limit", strings.Repeat("x", 20) + "\na\n", []string{strings.Repeat("x", 20), "a", "EOF"}},
		{"long line", "a\n" + long + "\nb\n", []string{"a", "too long", "b", "EOF"}},
		{"very long line", strings.Repeat("x", 100_000) + "\nb\n", []string{"too long", "b", "EOF"}},
		{"long line without end", strings.Repeat("x", 100_000), []string{"too long", "EOF"}},
		{"a header among lines", "a\n" + header("b"), []string{"a", "Content-Length: 1\r", "half b"}},

		{"headers", header("a") + header("") + header("b\nc"), []string{"a", "", "b\nc", "EOF"}},
		{"blanks before", "\n " + header("a"), []string{"a", "EOF"}},
		{"case and type", "content-LENGTH:2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\nab", []string{"ab", "EOF"}},
		{"utf8", "Content-Type: x; charset=\"utf8\"\r\nContent-Length: 1\r\n\r\na", []string{"a", "EOF"}},
		{"unknown header", "Content-Length: 1\r\nX-Y: z\r\n\r\na", []string{"a", "EOF"}},
		{"half a header", "Content-Le", []string{"half "}},
		{"half a body", "Content-Length: 5\r\n\r\nabc", []string{"half "}},
		{"long body", header("a") + header(long) + header("b"), []string{"a", "too long", "b", "EOF"}},
		{"long body cut off", "Content-Length: 50\r\n\r\nabc", []string{"too long", "EOF"}},
		{"blanks between", header("a") + "\r\n" + header("b"), []string{"a", "broken"}},
		{"JSON shorter than its length", "Content-Length: 3\r\n\r\n{}Content-Length: 2\r\n\r\n{}", []string{"{}C", "broken"}},
		{"JSON longer than its length", "Content-Length: 1\r\n\r\n{}Content-Length: 2\r\n\r\n{}", []string{"{", "broken"}},
		{"second length", "Content-Length: 1\r\nContent-Length: 1\r\n\r\na", []string{"broken"}},
		{"length 10^12", "Content-Length: 1000000000000\r\n\r\na", []string{"broken"}},
		{"length past 64 bits", "Content-Length: 99999999999999999999\r\n\r\na", []string{"broken"}},
		{"negative length", "Content-Length: -1\r\n\r\na", []string{"broken"}},
		{"signed length", "Content-Length: +1\r\n\r\na", []string{"broken"}},
		{"spaced length", "Content-Length: 1 1\r\n\r\na", []string{"broken"}},
		{"hexadecimal length", "Content-Length: 0x1\r\n\r\na", []string{"broken"}},
		{"grouped length", "Content-Length: 1_0\r\n\r\na", []string{"broken"}},
		{"no length", "Content-Type: x\r\n\r\na", []string{"broken"}},
		{"empty length", "Content-Length:\r\n\r\na", []string{"broken"}},
		{"blank before the colon", "Content-Length : 1\r\n\r\na", []string{"broken"}},
		{"folded header", "Content-Length: 1\r\n 2\r\n\r\na", []string{"broken"}},
		{"line feed in a value", "Content-Type: a\nContent-Length: 9\r\nContent-Length: 1\r\n\r\na", []string{"broken"}},
		{"carriage return in a value", "Content-Type: a\rContent-Length: 9\r\nContent-Length: 1\r\n\r\na", []string{"broken"}},
		{"NUL in a value", "Content-Type: a\x00b\r\nContent-Length: 1\r\n\r\na", []string{"broken"}},
		{"bare line ends", "Content-Length: 1\n\na", []string{"broken"}},
		{"one bare line end", "Content-Length: 1\r\nX: y\n\r\n\r\na", []string{"broken"}},
		{"unknown charset", "Content-Length: 1\r\nContent-Type: x; charset=latin1\r\n\r\na", []string{"broken"}},
		{"second type", "Content-Length: 1\r\nContent-Type: x\r\nContent-Type: y\r\n\r\na", []string{"broken"}},
		{"header flood", "C: " + strings.Repeat("x", maxHeader) + "\r\n\r\n", []string{"broken"}},
		{"endless header", "C: " + strings.Repeat("x\r\nC: ", maxHeader), []string{"broken"}},
	} {
		for piece, r := range map[string]io.Reader{
			"whole": strings.NewReader(test.in), "bytes": iotest.OneByteReader(strings.NewReader(test.in)),
			"halves": iotest.HalfReader(strings.NewReader(test.in)), "with EOF": iotest.DataErrReader(strings.NewReader(test.in)),
		} {
			if diff := cmp.Diff(test.want, readMessages(NewMessages(r, nil), 20)); diff != "" {
				t.Errorf("%s, %s: %s", test.name, piece, diff)
			}
		}
	}
}

// A stream that never ends a message costs its limit, and little once it is skipped; one
// that announces a large message costs that.
func TestMessagesMemory(t *testing.T) {
	m := NewMessages(io.MultiReader(strings.NewReader("["), endless{}), nil)
	if _, err := m.Next(1 << 20); !errors.Is(err, ErrTooLong) {
		t.Fatal(err)
	}
	if _, err := m.Next(1 << 20); err == nil || len(m.buf) > smallBuffer {
		t.Errorf("%v after skipping, with a buffer of %d bytes", err, len(m.buf))
	}
	m = NewMessages(strings.NewReader("Content-Length: 1000000\r\n\r\nabc"), nil)
	if _, err := m.Next(1 << 20); !errors.Is(err, io.ErrUnexpectedEOF) || len(m.buf) != 1_000_000 {
		t.Errorf("%v, with a buffer of %d bytes", err, len(m.buf))
	}
}

// Whoever ends header lines in LF is told so at once, though more could come.
func TestBareLineEnds(t *testing.T) {
	for _, text := range []string{"Content-Length: 1\n\n1", "Content-Length: 1\n\r\n\r\n1", "Content-Length: 1\r\nX: y\n"} {
		m := NewMessages(io.MultiReader(strings.NewReader(text), &stutter{}), nil)
		if _, err := m.Next(100); err == nil || !strings.Contains(err.Error(), "header lines must end in CRLF") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// Of a line that is too long its beginning is told, in whatever pieces it comes.
func TestTooLongBegins(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 30) + "\n", strings.Repeat("x", 10_000)} {
		got, err := NewMessages(iotest.HalfReader(strings.NewReader(text)), nil).Next(20)
		if !errors.Is(err, ErrTooLong) || !bytes.HasPrefix(got, []byte("xxxx")) {
			t.Errorf("%q %v", got, err)
		}
	}
}

// A large message grows the buffer, and small ones let it go.
func TestMessagesShrink(t *testing.T) {
	large := strings.Repeat("x", 500_000)
	r, w := io.Pipe()
	go func() {
		fmt.Fprintf(w, "%s\n", large)
		for range 20 {
			fmt.Fprint(w, "small\n")
		}
		w.Close()
	}()
	m := NewMessages(r, nil)
	got := readMessages(m, 1<<20)
	if len(got) != 22 || got[0] != large || len(m.buf) != smallBuffer {
		t.Errorf("%d messages, buffer of %d bytes", len(got), len(m.buf))
	}
}

// After a deadline reading goes on where it was.
func TestMessagesResume(t *testing.T) {
	for _, text := range []string{"first\nsecond\n", header("first") + header("second")} {
		m := NewMessages(&stutter{text: text}, nil)
		var got []string
		for len(got) < 2 {
			data, err := m.Next(100)
			if err == nil {
				got = append(got, string(data))
			} else if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff([]string{"first", "second"}, got); diff != "" {
			t.Error(diff)
		}
	}
}

// stutter gives one byte, and a deadline after each.
type stutter struct {
	text string
	late bool
}

func (s *stutter) Read(p []byte) (int, error) {
	if s.late = !s.late; s.late || s.text == "" {
		return 0, os.ErrDeadlineExceeded
	}
	p[0] = s.text[0]
	s.text = s.text[1:]
	return 1, nil
}

// FuzzMessages: a stream gives the same messages however it is cut into reads, and joined
// again the messages in newline framing are the stream without blanks and overlong lines.
func FuzzMessages(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nc"), uint8(3))
	f.Add([]byte(header("{}")+header("[1]")), uint8(1))
	f.Add([]byte("Content-Length: 5\r\nContent-Length: 5\r\n\r\nabcde"), uint8(7))
	f.Fuzz(func(t *testing.T, data []byte, n uint8) {
		whole := NewMessages(bytes.NewReader(data), nil)
		want := readMessages(whole, 64)
		got := readMessages(NewMessages(&pieces{data: data, n: int(n) + 1}, nil), 64)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		if whole.Framing() != Newline {
			return
		}
		var lines []string
		for line := range bytes.Lines(data) {
			trimmed := bytes.TrimLeft(line, " \t\r\n")
			switch ended := bytes.HasSuffix(line, []byte("\n")); {
			case len(trimmed) == 0:
			case ended && len(trimmed)-1 > 64, len(trimmed) > 64 && !ended:
				lines = append(lines, "too long")
			case ended:
				lines = append(lines, string(trimmed[:len(trimmed)-1]))
			default:
				lines = append(lines, "half "+string(trimmed))
			}
		}
		if n := len(lines); n == 0 || !strings.HasPrefix(lines[n-1], "half ") {
			lines = append(lines, "EOF")
		}
		if diff := cmp.Diff(lines, want); diff != "" {
			t.Fatal(diff)
		}
	})
}

type pieces struct {
	data []byte
	n    int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.n)], p.data)
	p.data = p.data[n:]
	return n, nil
}
