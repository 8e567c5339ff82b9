//go:build !linux && !darwin

package proc

import (
	"errors"
	"os"
	"time"
)

var errBusy = errors.New("the file is busy")

// child is a started process. Processes that it starts are not tracked.
type child struct {
	pid     int
	process *os.Process
}

func spawn(s *Spec, stdio []*os.File) (*child, error) {
	attr := &os.ProcAttr{Dir: s.Dir, Env: append([]string{}, s.Env...), Files: stdio}
	process, err := os.StartProcess(s.Path, s.argv(), attr)
	if err != nil {
		return nil, err
	}
	return &child{pid: process.Pid, process: process}, nil
}

func (c *child) wait() string {
	state, err := c.process.Wait()
	if err != nil {
		return "exit status unknown"
	}
	return state.String()
}

// signal kills: there is no gentler way here.
func (c *child) signal(bool) { _ = c.process.Kill() }

func (c *child) escaped(time.Duration, ...*os.File) bool { return false }
