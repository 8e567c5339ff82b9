package jsonrpcserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// socketMode is the mode of a socket file: for its owner alone.
const socketMode = 0o600

// listenUnix opens a unix socket for its owner alone. A socket file that is there
// already is replaced if nobody answers on it; any other file is left alone.
func listenUnix(ctx context.Context, path string) (l net.Listener, remove func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err // or it would bind all the same
	}
	unlock, err := lockFolder(ctx, filepath.Dir(path))
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	if err := removeStale(ctx, path); err != nil {
		return nil, nil, err
	}
	lc := net.ListenConfig{Control: restrictSocket}
	if l, err = lc.Listen(ctx, "unix", path); err != nil {
		return nil, nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	made, err := os.Lstat(path)
	if err == nil && made.Mode().Perm() != socketMode {
		err = os.Chmod(path, socketMode)
	}
	if err != nil {
		_ = l.Close()
		_ = os.Remove(path)
		return nil, nil, err
	}
	return l, func() { removeOwn(path, made) }, nil
}

// removeStale removes the socket file of a server that is gone.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSocket == 0 {
		return fmt.Errorf("%s is there and is no socket: choose another path, or remove it", path)
	}
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close()
		return fmt.Errorf("another server answers on %s", path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%s is there and can't be judged: %w", path, err)
	}
	return os.Remove(path)
}

// removeOwn removes the socket file unless another has taken its place.
func removeOwn(path string, own fs.FileInfo) {
	if info, err := os.Lstat(path); err == nil && os.SameFile(info, own) {
		_ = os.Remove(path)
	}
}

// control runs f on a connection's descriptor, and reports whether that went well.
func control(conn net.Conn, f func(fd int) error) bool {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = f(int(fd)) })
	return err == nil && failed == nil
}
