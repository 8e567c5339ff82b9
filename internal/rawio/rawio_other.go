//go:build !unix

package rawio

import (
	"errors"
	"syscall"
)

// New returns nil: descriptors can't be written to without waiting here.
func New(syscall.Conn) *Writer { return nil }

// Write is never called.
func (*Writer) Write([]byte) (int, error) { return 0, errors.ErrUnsupported }
