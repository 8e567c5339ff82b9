package load

import (
	"errors"
	"io"
	"os"
	"os/exec"
)

// Child is the standard input and output of a child process, as one connection.
type Child struct {
	io.ReadCloser
	io.WriteCloser
	cmd *exec.Cmd
}

// StartChild starts a program to speak with.
func StartChild(path string, args ...string) (*Child, error) {
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

// Close closes the child's standard input and waits for its end.
func (c *Child) Close() error { return errors.Join(c.WriteCloser.Close(), c.cmd.Wait()) }

// Greet shakes hands as an MCP client does, and leaves the connection behind the answer.
func Greet(conn io.ReadWriter) error {
	const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"1"}}}`
	if _, err := io.WriteString(conn, hello+"\n"); err != nil {
		return err
	}
	for b := []byte{0}; b[0] != '\n'; {
		if _, err := io.ReadFull(conn, b); err != nil {
			return err
		}
	}
	_, err := io.WriteString(conn, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return err
}
