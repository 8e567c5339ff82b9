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
	var cred *unix.Ucred
	read := control(conn, func(fd int) (err error) {
		cred, err = unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		return err
	})
	if !read {
		return ""
	}
	return fmt.Sprintf("pid %d uid %d", cred.Pid, cred.Uid)
}
