package interop

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

const teeCommand = "tee-of-the-interop-tests"

// tee runs a command and writes down what goes in and what comes out of it, line by line.
func tee(file string, command []string) int {
	log, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = os.Environ()
	cmd.Stderr = os.Stderr
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_ = os.WriteFile(file+".pid", fmt.Append(nil, cmd.Process.Pid), 0o600)
	notes := &transcript{log: log}
	go func() {
		_ = notes.pass(in, os.Stdin, "> ")
		_ = in.Close()
	}()
	_ = notes.pass(os.Stdout, out, "< ")
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

type transcript struct {
	mu  sync.Mutex
	log io.Writer
}

func (n *transcript) pass(to io.Writer, from io.Reader, mark string) error {
	lines := bufio.NewReaderSize(from, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			n.write(mark, line)
			if _, err := to.Write(line); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// write notes a line down before it is passed on, so that the order is that of cause and effect.
func (n *transcript) write(mark string, line []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, _ = n.log.Write([]byte(mark + string(bytes.TrimRight(line, "\n")) + "\n"))
}

// line is one message that a server saw or sent.
type line struct {
	toServer bool
	text     string
	Method   string          `json:"method"`
	ID       json.RawMessage `json:"id"`
	Params   json.RawMessage `json:"params"`
	Result   json.RawMessage `json:"result"`
	Error    json.RawMessage `json:"error"`
}

// readTranscript returns what a tee has written down, and shows it with -v.
func readTranscript(t *testing.T, file string) []line {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []line
	for text := range strings.Lines(string(data)) {
		l := line{toServer: strings.HasPrefix(text, "> "), text: strings.TrimSpace(text[2:])}
		_ = json.Unmarshal([]byte(l.text), &l)
		list = append(list, l)
	}
	return list
}

// show logs a transcript; long lines are cut.
func show(t *testing.T, list []line) {
	t.Helper()
	for _, l := range list {
		mark := "server says: "
		if l.toServer {
			mark = "server sees: "
		}
		t.Logf("%s%.300s", mark, l.text)
	}
}

// seen returns the messages of a method that the server saw.
func seen(list []line, method string) []line {
	var found []line
	for _, l := range list {
		if l.toServer && l.Method == method {
			found = append(found, l)
		}
	}
	return found
}
