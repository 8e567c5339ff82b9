// Package rawio writes to sockets and pipes without ever waiting for who reads.
package rawio

import "syscall"

// Writer writes as much as a descriptor takes at once. One goroutine may use it at a time.
type Writer struct {
	raw  syscall.RawConn
	data []byte
	n    int
	err  error
	once func(fd uintptr) bool // kept, so that a write allocates nothing
}
