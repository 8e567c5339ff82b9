//go:build unix

package rawio_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/cupule/cupule/internal/rawio"
)

func pipe(t *testing.T) (r, w *os.File, raw *rawio.Writer) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(); _ = w.Close() })
	if raw = rawio.New(w); raw == nil {
		t.Fatal("no writer to a pipe")
	}
	return r, w, raw
}

// A full pipe takes a part, then nothing, and the writer is back each time.
func TestNobodyReads(t *testing.T) {
	r, w, raw := pipe(t)
	large := bytes.Repeat([]byte("x"), 4<<20)
	n, _ := raw.Write(large)
	if n <= 0 || n >= len(large) {
		t.Fatalf("%d of %d bytes written", n, len(large))
	}
	if more, err := raw.Write(large); more != 0 || !errors.Is(err, syscall.EAGAIN) {
		t.Fatalf("%d, %v", more, err)
	}
	_ = w.Close()
	if got, err := io.ReadAll(r); err != nil || len(got) != n {
		t.Errorf("%d bytes read, %v; want %d", len(got), err, n)
	}
	if _, err := raw.Write(large); err == nil {
		t.Error("a closed file was written to")
	}
}

func TestReaderIsGone(t *testing.T) {
	r, _, raw := pipe(t)
	_ = r.Close()
	if n, err := raw.Write([]byte("x")); n != 0 || !errors.Is(err, syscall.EPIPE) {
		t.Errorf("%d, %v", n, err)
	}
}

func TestWritesAllocateNothing(t *testing.T) {
	r, _, raw := pipe(t)
	line, in := []byte("a line\n"), make([]byte, 16)
	if n := testing.AllocsPerRun(100, func() {
		if n, err := raw.Write(line); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
		_, _ = r.Read(in)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
