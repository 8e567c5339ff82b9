// Package stdio starts programs to speak with over their standard input and output.
package stdio

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"time"
)

// Patience is how long a program may take to end once its input has ended.
const Patience = 10 * time.Second

// Child is a running program, read from and written to as one connection.
type Child struct {
	io.ReadCloser
	io.WriteCloser
	cmd *exec.Cmd
}

// Start starts a program.
func Start(path string, args ...string) (*Child, error) {
	cmd := exec.Command(path, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &Child{ReadCloser: out, WriteCloser: in, cmd: cmd}, cmd.Start()
}

// Kill ends the program at once. It still wants to be closed.
func (c *Child) Kill() { _ = c.cmd.Process.Kill() }

// Close ends the program's input and waits for its end.
func (c *Child) Close() error {
	guard := time.AfterFunc(Patience, c.Kill)
	defer guard.Stop()
	return errors.Join(c.WriteCloser.Close(), c.cmd.Wait())
}
