package jsonrpcserver

import (
	"net"

	"github.com/cupule/cupule/internal/rawio"
)

// newRawWriter returns nil where the connection is no socket.
func newRawWriter(conn pipe) *rawio.Writer {
	if counted, ok := conn.(*boundedConn); ok {
		conn = counted.Conn
	}
	switch c := conn.(type) {
	case *net.UnixConn:
		return rawio.New(c)
	case *net.TCPConn:
		return rawio.New(c)
	}
	return nil
}
