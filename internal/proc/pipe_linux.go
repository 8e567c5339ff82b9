package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// outputPipe is the size of the pipe that a child's output comes through, in bytes. The
// system's own 64 KiB make a large frame a long row of turns between two processes.
const outputPipe = 256 << 10

// widen makes room in a pipe. Where the system refuses, the pipe stays as it is.
func widen(pipe *os.File) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, outputPipe) })
}
