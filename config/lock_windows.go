package config

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/windows"
)

// lock locks a file among the temporary ones that stands for the target.
func lock(target string, wait time.Duration) (unlock func(), err error) {
	name := fmt.Sprintf("cupule-%x.lock", sha256.Sum256([]byte(strings.ToLower(target))))
	f, err := os.OpenFile(filepath.Join(os.TempDir(), name), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	const exclusive = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	for deadline := time.Now().Add(wait); ; {
		err := windows.LockFileEx(windows.Handle(f.Fd()), exclusive, 0, 1, 0, new(windows.Overlapped))
		if err == nil {
			return func() { f.Close() }, nil
		}
		if time.Now().After(deadline) {
			f.Close()
			return nil, err
		}
		time.Sleep(time.Millisecond)
	}
}

func keepOwner(*os.File, fs.FileInfo) {}
