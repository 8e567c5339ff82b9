package proc

import (
	"errors"

	"golang.org/x/sys/unix"
)

const descriptorDir = "/proc/self/fd"

// awaitExit returns when the process has exited, and leaves it unreaped. It reports whether
// it did: false means that somebody else has reaped it, and its id may be a stranger's.
func awaitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}
