package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// operations are what the served configuration declares. Their tools are those of
// server-everything and of the example's server.
const operations = `
operations:
  demo.echo:
    description: Say it again
    tool: everything/echo
    params: {type: object, properties: {message: {type: string}}, required: [message], additionalProperties: false}
    result: &result {type: object, properties: {content: {type: array, minItems: 1}}, required: [content]}
  demo.sum:
    tool: everything/get-sum
    params:
      type: object
      properties: {a: {type: integer, minimum: -100, maximum: 100}, b: {type: integer, minimum: 0, maximum: 9}}
      required: [a, b]
    result: *result
  demo.weather:
    tool: everything/get-structured-content
    params: {type: object, properties: {location: {enum: [New York, Chicago, Los Angeles]}}, required: [location]}
    result: *result
  demo.slow:
    tool: everything/trigger-long-running-operation
  identifier.resolve:
    tool: research-tools/resolve_identifier
  note.add:
    tool: research-tools/annotate
`

const researchTools = `
    allowed:
      resolve_identifier: {effects: []}
      annotate: {effects: [mutation]}
`

// service is a running "cupule serve".
type service struct {
	log  *log
	cmd  *exec.Cmd
	wire string // what server-everything saw and said
}

// configure writes a configuration and returns the arguments of cupule that serve it.
func configure(t *testing.T, p *peers, listen string) (arguments []string, wire string) {
	t.Helper()
	dir := t.TempDir()
	wire = filepath.Join(dir, "wire")
	text := "mcp:\n  everything:\n" + viaTee(t, wire, p.node, p.everything(), "stdio") + "\n    session: {shared: true}" + allowed +
		"  research-tools:\n" + stdio(program(t, "examples/research-tools")) + researchTools + operations +
		"callers:\n  local: {}\n  anonymous: {operations: [demo.echo, demo.sum, demo.weather, note.*]}\n  client: {token_env: CLIENT_TOKEN}\n" + listen
	file := filepath.Join(dir, "app.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{program(t, "cmd/cupule"), "serve", "-v", "-c", file}, wire
}

// token is that of the caller named client.
const token = "a-token-of-the-interop-tests"

// serve runs "cupule serve" until the test ends, and then ends it as an operator would.
func serve(t *testing.T, p *peers, address string) *service {
	t.Helper()
	arguments, wire := configure(t, p, "serve: {listen: ["+address+"]}\n")
	cmd := exec.Command(arguments[0], arguments[1:]...)
	cmd.Env = append(os.Environ(), "CLIENT_TOKEN="+token)
	talk, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &service{log: newLog(talk), cmd: cmd, wire: wire}
	t.Cleanup(func() { s.stop(t) })
	return s
}

func (s *service) stop(t *testing.T) {
	t.Helper()
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	hang := time.AfterFunc(guard, func() { _ = s.cmd.Process.Kill() })
	defer hang.Stop()
	s.log.wait()
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("cupule serve: %v", err)
	}
	reportServed(s.log.text())
	if t.Failed() {
		t.Logf("cupule serve said:\n%s", s.log.text())
	}
}

// address waits until the service listens and returns where.
func (s *service) address(t *testing.T) string {
	t.Helper()
	return s.log.find(t, "cupule: serving on ")
}

// The service's own record of a call that went well.
var served = regexp.MustCompile(`kind=operation name=(\S+) outcome=ok .*origin=(\S+)`)

func reportServed(text string) {
	for _, match := range served.FindAllStringSubmatch(text, -1) {
		report("in", match[2], match[1])
	}
}

// step is one line that a script prints.
type step struct {
	Step    string          `json:"step"`
	Value   json.RawMessage `json:"value"`
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// play runs a script of scripts/ with the packages in reach and returns what it printed, by
// step. What it says on standard error is shown with -v.
func play(t *testing.T, p *peers, name string, argument any) (map[string]step, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*guard)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.node, script(t, name), quote(argument))
	cmd.Env = append(os.Environ(), "NODE_PATH="+p.module(""), "CLIENT_TOKEN="+token, fmt.Sprint("PARALLEL=", parallel))
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	err := cmd.Run()
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", name, errors.Join(err, context.Cause(ctx)), out.String(), talk.String())
	}
	steps := map[string]step{}
	for text := range strings.Lines(out.String()) {
		var s step
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatalf("%s printed %s", name, text)
		}
		name := s.Step
		for n := 2; ; n++ {
			if _, taken := steps[name]; !taken {
				break
			}
			name = fmt.Sprintf("%s %d", s.Step, n)
		}
		steps[name] = s
	}
	return steps, talk.String()
}

// said returns the text that a tool's result in a step says.
func (s step) said(t *testing.T) string {
	t.Helper()
	var result struct {
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(s.Value, &result); err != nil || len(result.Content) == 0 {
		t.Errorf("%s: %d %s %.300s", s.Step, s.Code, s.Message, s.Value)
		return ""
	}
	return result.Content[0].Text
}
