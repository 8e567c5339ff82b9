package proc

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const descriptorDir = "/dev/fd"

// exitWatch has no state of its own here.
type exitWatch struct{}

func (c *child) attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// await returns when the process has exited, and leaves it unreaped. (waitid doesn't do
// here: it also returns for a process that was stopped.)
func (exitWatch) await(pid int) bool {
	for {
		queue, err := unix.Kqueue()
		if err == nil {
			defer unix.Close(queue)
			unix.CloseOnExec(queue)
			return watchExit(queue, pid)
		}
		time.Sleep(10 * time.Millisecond) // out of descriptors
	}
}

func watchExit(queue, pid int) bool {
	watch := make([]unix.Kevent_t, 1)
	unix.SetKevent(&watch[0], pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	watch[0].Fflags = unix.NOTE_EXIT
	for {
		// A process that has exited already is not found, and just as unreaped.
		_, err := unix.Kevent(queue, watch, make([]unix.Kevent_t, 1), nil)
		if !errors.Is(err, unix.EINTR) {
			return true
		}
	}
}
