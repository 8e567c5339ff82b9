//go:build unix

package jsonrpcserver

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockFolder keeps other servers from replacing a socket file in the same folder, so that
// of two that start at once one finds the other's socket answering. It does without the
// lock where the folder can't be read, and after a while: whoever can read the folder can
// hold it.
func lockFolder(ctx context.Context, dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if errors.Is(err, os.ErrPermission) {
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	for range 100 {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			break
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			_ = f.Close()
			return nil, ctx.Err()
		}
	}
	_ = f.Close()
	return func() {}, nil // or a file system without locks
}
