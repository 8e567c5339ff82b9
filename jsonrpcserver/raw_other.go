//go:build !unix

package jsonrpcserver

import "errors"

// rawWriter is missing where sockets can't be written to without waiting.
type rawWriter struct{}

func newRawWriter(pipe) *rawWriter { return nil }

func (*rawWriter) write([]byte) (int, error) { return 0, errors.ErrUnsupported }
