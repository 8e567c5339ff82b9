//go:build linux || darwin

package proc

import (
	"errors"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const errBusy = syscall.ETXTBSY

// child is a started process: the leader of a group that has its id.
type child struct {
	pid   int
	watch exitWatch

	mu     sync.Mutex
	reaped bool // guarded by mu: from then on, the ids may belong to a stranger
}

// spawn starts the process. It is the place to restrict what the kernel lets it do: on a
// thread that is locked, restricted, used for this start, and then thrown away.
func spawn(s *Spec, stdio []*os.File) (*child, error) {
	c := &child{}
	attr := &syscall.ProcAttr{Dir: s.Dir, Env: s.Env, Sys: c.attributes()}
	for _, f := range stdio {
		attr.Files = append(attr.Files, f.Fd())
	}
	attr.Files = withhold(attr.Files)
	pid, err := forkExec(s, attr)
	c.pid = pid
	return c, err
}

// forkExec tries again for a moment while the file is busy: another thread that forks at the
// wrong moment can hold a file open for writing that has just been written.
func forkExec(s *Spec, attr *syscall.ProcAttr) (int, error) {
	for wait := time.Millisecond; ; wait *= 2 {
		pid, err := syscall.ForkExec(s.Path, s.argv(), attr)
		if !errors.Is(err, errBusy) || wait > 32*time.Millisecond {
			return pid, err
		}
		time.Sleep(wait)
	}
}

// withhold adds to the files of a child, so that it closes every descriptor that this process
// would pass on: those that it was itself started with, or that foreign code opened carelessly.
func withhold(files []uintptr) []uintptr {
	for _, fd := range descriptors() {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if fd < len(files) || err != nil || flags&unix.FD_CLOEXEC != 0 {
			continue
		}
		for len(files) <= fd {
			files = append(files, ^uintptr(0))
		}
	}
	return files
}

// descriptors returns the numbers of the open descriptors, or of all that may well be open
// where the system doesn't tell.
func descriptors() []int {
	dir, err := os.Open(descriptorDir)
	if err != nil {
		return upTo(1 << 10)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return upTo(1 << 10)
	}
	list := make([]int, 0, len(names))
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil {
			list = append(list, fd)
		}
	}
	return list
}

func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// wait waits for the process to exit, kills what is left of its group, and reaps it.
func (c *child) wait() string {
	ours := c.watch.await(c.pid)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reaped = true
	if ours {
		_ = unix.Kill(-c.pid, unix.SIGKILL)
	}
	var status unix.WaitStatus
	for {
		_, err := unix.Wait4(c.pid, &status, 0, nil)
		if !errors.Is(err, unix.EINTR) {
			return exitText(status, err)
		}
	}
}

func exitText(status unix.WaitStatus, err error) string {
	switch {
	case err != nil:
		return "exit status unknown"
	case status.Signaled():
		return "killed by " + unix.SignalName(status.Signal())
	default:
		return "exit status " + strconv.Itoa(status.ExitStatus())
	}
}

// signal sends SIGTERM, or SIGKILL, to the group, unless the leader has been reaped.
func (c *child) signal(kill bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped {
		return
	}
	sig := unix.SIGTERM
	if kill {
		sig = unix.SIGKILL
	}
	_ = unix.Kill(-c.pid, sig)
}

// escaped reports whether somebody outside the group holds the other end of one of the pipes.
// Killed processes take a moment to let go, so it waits, up to d, while the group has members.
// (Should its id be a stranger's by now, asking for it does no harm.)
func (c *child) escaped(d time.Duration, pipes ...*os.File) bool {
	deadline := time.Now().Add(d)
	for {
		empty := errors.Is(unix.Kill(-c.pid, 0), unix.ESRCH)
		if hungUp(pipes, 0) {
			return false
		}
		if empty || !time.Now().Before(deadline) {
			return true
		}
		if hungUp(pipes, 2*time.Millisecond) {
			return false
		}
	}
}

// hungUp reports whether nobody holds the other ends of these pipes, waiting up to d for it.
func hungUp(pipes []*os.File, d time.Duration) bool {
	for _, f := range pipes {
		conn, err := f.SyscallConn()
		if err != nil {
			continue
		}
		gone := true
		_ = conn.Control(func(fd uintptr) {
			set := []unix.PollFd{{Fd: int32(fd)}}
			_, err := unix.Poll(set, int(d.Milliseconds()))
			gone = err == nil && set[0].Revents&unix.POLLHUP != 0
		})
		if !gone {
			return false
		}
	}
	return true
}
