//go:build unix

package rawio

import "syscall"

// New returns a writer to what c stands for, which must be in non-blocking mode as package
// net and os.Pipe have it; nil where there is no such thing.
func New(c syscall.Conn) *Writer {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	w := &Writer{raw: raw}
	w.once = func(fd uintptr) bool {
		w.n, w.err = syscall.Write(int(fd), w.data)
		return true
	}
	return w
}

// Write returns how much was written; the error is only that not all was.
func (w *Writer) Write(data []byte) (int, error) {
	w.data, w.n = data, 0
	err := w.raw.Write(w.once)
	w.data = nil
	if err == nil {
		err = w.err
	}
	return max(w.n, 0), err
}
