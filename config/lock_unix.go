//go:build unix

package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lock locks the folder of a file, so that no lock file is left in it.
func lock(target string, wait time.Duration) (unlock func(), err error) {
	dir, err := os.Open(filepath.Dir(target))
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(wait); ; {
		err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { dir.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) || time.Now().After(deadline) {
			dir.Close()
			return nil, err
		}
		time.Sleep(time.Millisecond)
	}
}

// keepOwner does what it may: only root can give a file away.
func keepOwner(f *os.File, info fs.FileInfo) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(stat.Uid), int(stat.Gid))
	}
}
