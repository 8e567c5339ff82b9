//go:build unix

package mcptest

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// awaitBroken returns when nobody holds the other end of the pipe any more, or after Lifetime.
func awaitBroken(pipe *os.File) {
	set := []unix.PollFd{{Fd: int32(pipe.Fd())}}
	for {
		if _, err := unix.Poll(set, int(Lifetime.Milliseconds())); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
