//go:build unix

package jsonrpcserver

import (
	"net"
	"syscall"
)

// rawWriter writes as much as a socket takes at once, and never waits.
type rawWriter struct {
	raw  syscall.RawConn
	data []byte
	n    int
	err  error
	once func(fd uintptr) bool
}

// newRawWriter returns nil where the connection is no socket.
func newRawWriter(conn pipe) *rawWriter {
	if counted, ok := conn.(*boundedConn); ok {
		conn = counted.Conn
	}
	var socket syscall.Conn
	switch c := conn.(type) {
	case *net.UnixConn:
		socket = c
	case *net.TCPConn:
		socket = c
	default:
		return nil
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil
	}
	w := &rawWriter{raw: raw}
	w.once = func(fd uintptr) bool {
		w.n, w.err = syscall.Write(int(fd), w.data)
		return true
	}
	return w
}

// write returns how much was written; the error is only that not all was.
func (w *rawWriter) write(data []byte) (int, error) {
	w.data, w.n = data, 0
	err := w.raw.Write(w.once)
	w.data = nil
	if err == nil {
		err = w.err
	}
	return max(w.n, 0), err
}
