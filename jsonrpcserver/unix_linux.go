package jsonrpcserver

import (
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// restrictSocket gives a socket its mode before it is bound, so that its file is never
// open to others, whatever the umask says.
func restrictSocket(_, _ string, c syscall.RawConn) error {
	var failed error
	if err := c.Control(func(fd uintptr) { failed = unix.Fchmod(int(fd), socketMode) }); err != nil {
		return err
	}
	return failed
}

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
	var cred *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err != nil || failed != nil {
		return ""
	}
	return fmt.Sprintf("pid %d uid %d", cred.Pid, cred.Uid)
}
