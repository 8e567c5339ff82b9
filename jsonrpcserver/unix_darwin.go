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
	var cred *unix.Xucred
	var pid int
	read := control(conn, func(fd int) (err error) {
		if cred, err = unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED); err == nil {
			pid, err = unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
		}
		return err
	})
	if !read {
		return ""
	}
	return fmt.Sprintf("pid %d uid %d", pid, cred.Uid)
}
