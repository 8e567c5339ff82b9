package jsonrpcserver

import (
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// restrictSocket does nothing: here a socket's file takes its mode after it was bound.
func restrictSocket(string, string, syscall.RawConn) error { return nil }

// unixPeer describes the process at the other end.
func unixPeer(conn net.Conn) string {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return ""
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return ""
	}
	var cred *unix.Xucred
	var pid int
	var failed error
	err = raw.Control(func(fd uintptr) {
		if cred, failed = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED); failed == nil {
			pid, failed = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
		}
	})
	if err != nil || failed != nil {
		return ""
	}
	return fmt.Sprintf("pid %d uid %d", pid, cred.Uid)
}
