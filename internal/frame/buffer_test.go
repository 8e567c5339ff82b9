package frame

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// purse is a room of so many bytes for one reader.
type purse struct {
	size, held int
	contended  bool
	claims     []int // that were granted
}

func (p *purse) Claim(size int, _ bool) bool {
	if size > p.size {
		return false
	}
	p.held = size
	p.claims = append(p.claims, size)
	return true
}

func (p *purse) Release() { p.held = 0 }

func (p *purse) Contended() bool { return p.contended }

// TestRoom claims what a message takes and no more, and gives it back behind it.
func TestRoom(t *testing.T) {
	const limit = 1 << 20
	text := func(n int) string { return strings.Repeat("x", n) }
	for _, row := range []struct {
		name, in  string
		size      int // of the room
		contended bool
		want      string // lengths, or "no room"
		claims    string
	}{
		{"small", text(1000) + "\n", limit, false, "[1000]", "[]"},
		{"4 KiB", text(4096) + "\n", limit, false, "[4096]", "[]"},
		{"middle", text(10_000) + "\na\n", limit, true, "[10000 1]", "[65536]"},
		{"large", text(100_000) + "\na\n", limit + 1, true, "[100000 1]", "[65536 1048577]"},
		{"the limit", text(limit) + "\na\n", limit + 1, true, "[1048576 1]", "[65536 1048577]"},
		{"no room", text(10_000) + "\na\n", 1000, false, "[no room 1]", "[]"},
		{"no large room", text(100_000) + "\na\n", 1 << 16, true, "[no room 1]", "[65536]"},
		{"header, small", header(text(1000)), limit, false, "[1000]", "[]"},
		{"header, middle", header(text(10_000)) + header("a"), limit, true, "[10000 1]", "[65536]"},
		{"header, large", header(text(100_000)) + header("a"), limit, true, "[100000 1]", "[100000]"},
		{"header, no room", header(text(100_000)) + header("a"), 1 << 15, false, "[no room 1]", "[]"},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := &purse{size: row.size, contended: row.contended}
			m := NewMessages(strings.NewReader(row.in), p)
			var got []string
			for {
				data, err := m.Next(limit)
				if err == io.EOF {
					break
				}
				if errors.Is(err, ErrNoRoom) {
					got = append(got, "no room")
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprint(len(data)))
			}
			if fmt.Sprint(got) != row.want || fmt.Sprint(p.claims) != row.claims {
				t.Errorf("messages %v, want %s; claims %v, want %s", got, row.want, p.claims, row.claims)
			}
			if m.Close(); p.held != 0 || m.buf != nil {
				t.Errorf("%d bytes are held at the end", p.held)
			}
		})
	}
}

// TestYield gives up a message that needs room, and only such a one.
func TestYield(t *testing.T) {
	for _, row := range []struct {
		name, before, after string
		gaveUp              bool
		beginning           string
	}{
		{"between messages", "", "b\n", false, ""},
		{"short", "xyz", "z\nb\n", false, ""},
		{"middle", strings.Repeat("x", 10_000), "y\nb\n", true, "xxx"},
		{"large", strings.Repeat("x", 100_000), "y\nb\n", true, "xxx"},
		{"header", "Content-Length: 100000\r\n\r\n" + strings.Repeat("x", 50_000), strings.Repeat("x", 50_000) + header("b"), true, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := &purse{size: 1 << 21}
			pause := errors.New("pause")
			m := NewMessages(io.MultiReader(strings.NewReader(row.before), &failing{err: pause}, strings.NewReader(row.after)), p)
			if _, err := m.Next(1 << 20); err != pause {
				t.Fatal(err)
			}
			beginning, gaveUp := m.Yield()
			if gaveUp != row.gaveUp || !strings.HasPrefix(string(beginning), row.beginning) || p.held != 0 || len(m.buf) > smallBuffer {
				t.Errorf("gave up: %v, %.10q, %d bytes held, a buffer of %d", gaveUp, beginning, p.held, len(m.buf))
			}
			var last []byte
			for {
				data, err := m.Next(1 << 20)
				if err != nil {
					break
				}
				last = append(last[:0], data...)
			}
			if string(last) != "b" {
				t.Errorf("and then %.20q", last)
			}
		})
	}
}

// failing fails once.
type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) {
	err := f.err
	f.err = io.EOF
	return 0, err
}
