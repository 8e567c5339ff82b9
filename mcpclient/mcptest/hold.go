package mcptest

import (
	"fmt"
	"os"
	"os/exec"
)

// How a process that holds a child's pipes is started.
const (
	holdInGroup = "group"
	holdEscaped = "escaped"
	holdStay    = "stay"
)

// hold starts a process that holds the pipes of this one.
func (t *turn) hold(mode string) {
	if err := fork(mode, t.record.path, mode == holdEscaped); err != nil {
		fmt.Fprintln(os.Stderr, "mcptest:", err)
	}
}

// runHolder is the process. To escape takes two steps: one process starts the other in a session of its
// own, and ends, so that nothing links that one to the child.
func runHolder(mode, record string) {
	ignoreTerm()
	if mode == holdEscaped {
		if err := fork(holdStay, record, false); err != nil {
			fmt.Fprintln(os.Stderr, "mcptest:", err)
		}
		return
	}
	awaitBroken(os.Stdout)
}

func fork(mode, record string, wait bool) error {
	path, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(path, holdFlag+mode, record)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = os.Environ()
	if mode == holdStay {
		cmd.SysProcAttr = ownSession()
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if wait {
		return cmd.Wait()
	}
	(&recorder{path: record}).add(Event{Kind: Forked, PID: cmd.Process.Pid})
	return nil
}
