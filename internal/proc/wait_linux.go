package proc

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const descriptorDir = "/proc/self/fd"

// exitWatch is a descriptor of the process that becomes readable when it exits, or -1 where the
// kernel has none. Waiting on it costs no thread, as waiting in a system call would.
type exitWatch struct{ fd int }

// attributes asks for a group of its own, and for the descriptor.
func (c *child) attributes() *syscall.SysProcAttr {
	c.watch.fd = -1
	return &syscall.SysProcAttr{Setpgid: true, PidFD: &c.watch.fd}
}

// await returns when the process has exited, and leaves it unreaped. It reports whether
// it did: false means that somebody else has reaped it, and its id may be a stranger's.
func (w *exitWatch) await(pid int) bool {
	if ours, ok := w.poll(pid); ok {
		return ours
	}
	exited, err := waitable(pid, 0)
	return exited && err == nil
}

func (w *exitWatch) poll(pid int) (ours, ok bool) {
	if w.fd < 0 {
		return false, false
	}
	_ = unix.SetNonblock(w.fd, true) // makes NewFile hand it to the runtime's poller
	f := os.NewFile(uintptr(w.fd), "pidfd")
	defer f.Close()
	conn, err := f.SyscallConn()
	if err != nil {
		return false, false
	}
	err = conn.Read(func(uintptr) bool {
		exited, err := waitable(pid, unix.WNOHANG)
		ours = exited
		return exited || err != nil
	})
	return ours, err == nil
}

// waitable reports whether the process has exited and is still to be reaped.
func waitable(pid, flags int) (bool, error) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|flags, nil)
		if !errors.Is(err, unix.EINTR) {
			return info.Signo != 0, err
		}
	}
}
