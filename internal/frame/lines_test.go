package frame

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestNext(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	rows := []struct {
		name, in string
		limit    int
		line     string
		owned    bool
		err      error
	}{
		{"empty line", "\n", 10, "", false, nil},
		{"short", "abc\n", 10, "abc", false, nil},
		{"at its limit", "abcde\n", 5, "abcde", false, nil},
		{"one over", "abcdef\n", 5, "abcdef", false, ErrTooLong},
		{"longer than the buffer", strings.Repeat("y", 100) + "\n", 100, strings.Repeat("y", 100), true, nil},
		{"longer than a piece", long + "\n", len(long), long, true, nil},
		{"long and one over", long + "\n", len(long) - 1, long, true, ErrTooLong},
		{"no newline", "abc", 10, "abc", false, io.ErrUnexpectedEOF},
		{"long without newline", long, len(long) + 10, long, true, io.ErrUnexpectedEOF},
		{"nothing", "", 10, "", false, io.EOF},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			for _, in := range []io.Reader{strings.NewReader(row.in), iotest.OneByteReader(strings.NewReader(row.in))} {
				line, owned, err := NewLines(in, 64).NextOwned(row.limit)
				if string(line) != row.line || owned != row.owned || !errors.Is(err, row.err) {
					t.Errorf("%d bytes, owned %v, %v", len(line), owned, err)
				}
			}
		})
	}
}

// TestDiscard reads on behind a line that is too long, and finds the next.
func TestDiscard(t *testing.T) {
	for size := range 300 {
		in := strings.Repeat("z", size) + "\nnext\n"
		l := NewLines(strings.NewReader(in), 16)
		line, err := l.Next(20)
		seen := bytes.Clone(line)
		if size > 20 {
			if !errors.Is(err, ErrTooLong) {
				t.Fatalf("%d bytes: %v", size, err)
			}
			if err := l.Discard(1000, func(p []byte) { seen = append(seen, p...) }); err != nil {
				t.Fatalf("%d bytes: %v", size, err)
			}
			seen = bytes.TrimSuffix(seen, []byte("\n"))
		}
		if len(seen) != size {
			t.Errorf("saw %d of %d bytes", len(seen), size)
		}
		if line, err := l.Next(20); string(line) != "next" || err != nil {
			t.Errorf("behind %d bytes: %q, %v", size, line, err)
		}
	}
}

func TestDiscardHasALimit(t *testing.T) {
	l := NewLines(strings.NewReader(strings.Repeat("z", 10_000)), 16)
	if _, err := l.Next(20); !errors.Is(err, ErrTooLong) {
		t.Fatal(err)
	}
	if err := l.Discard(1000, nil); !errors.Is(err, ErrTooLong) {
		t.Errorf("%v", err)
	}
	end := NewLines(strings.NewReader(strings.Repeat("z", 100)), 16)
	_, _ = end.Next(20)
	if err := end.Discard(1000, nil); !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
}

// TestOwned holds a line over the next one.
func TestOwned(t *testing.T) {
	a, b := strings.Repeat("a", 5000), strings.Repeat("b", 5000)
	l := NewLines(strings.NewReader(a+"\n"+b+"\n"), 16)
	first, owned, err := l.NextOwned(6000)
	if _, _, err2 := l.NextOwned(6000); err != nil || err2 != nil || !owned || string(first) != a {
		t.Errorf("%v %v %v", owned, err, err2)
	}
}

// TestBound has each line over 100 bytes ask first, in three ways.
func TestBound(t *testing.T) {
	errNo := errors.New("no")
	small, large := strings.Repeat("s", 100), strings.Repeat("l", 5000)
	for _, row := range []struct {
		name   string
		atOnce bool
		refuse error
		limit  int
		want   error
	}{
		{"in pieces", false, nil, 6000, nil},
		{"at once", true, nil, 6000, nil},
		{"at its limit", true, nil, 5000, nil},
		{"one over", true, nil, 4999, ErrTooLong},
		{"far over", true, nil, 200, ErrTooLong},
		{"refused", false, errNo, 6000, ErrTooLong},
	} {
		for _, end := range []string{"\n", ""} {
			asked := 0
			l := NewLines(strings.NewReader(small+"\n"+large+end), 16)
			l.Bound(100, func() (bool, error) { asked++; return row.atOnce, row.refuse })
			if line, err := l.Next(row.limit); string(line) != small || err != nil || asked != 0 {
				t.Errorf("%s: a small line of %d bytes, asked %d times: %v", row.name, len(line), asked, err)
			}
			want := row.want
			if end == "" && want == nil {
				want = io.ErrUnexpectedEOF
			}
			line, owned, err := l.NextOwned(row.limit)
			if !errors.Is(err, want) || !owned || asked != 1 || !strings.HasPrefix(large, string(line)) || want == nil && len(line) != len(large) {
				t.Errorf("%s: %d bytes, asked %d times, owned %v: %v", row.name, len(line), asked, owned, err)
			}
			if row.atOnce && cap(line) > row.limit+64 {
				t.Errorf("%s: %d bytes of memory for a limit of %d", row.name, cap(line), row.limit)
			}
			if errors.Is(err, ErrTooLong) && end != "" {
				if err := l.Discard(1<<20, nil); err != nil {
					t.Errorf("%s: %v", row.name, err)
				}
			}
		}
	}
}
