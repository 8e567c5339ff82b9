//go:build linux || darwin

package mcptest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cupule/cupule/internal/proc"
)

var childTable = []struct {
	fault  Fault
	asked  bool // a call is made, else only the handshake
	exit   string
	stage  proc.Stage
	escape bool
}{
	{Fault{At: CallTool, Do: CrashBefore, Code: 3, Text: "oh no"}, true, "exit status 3", proc.Exited, false},
	{Fault{At: Close, Do: CrashBefore, Code: 4}, false, "exit status 4", proc.OnEOF, false},
	{Fault{At: Start, Do: IgnoreEOF}, true, "killed by SIGTERM", proc.OnTerm, false},
	{Fault{At: Start, Do: IgnoreTerm}, true, "exit status 0", proc.OnEOF, false},
	{Fault{At: Start, Do: Grandchild}, true, "exit status 0", proc.OnEOF, false},
	{Fault{At: CallTool, Do: Escape}, true, "exit status 0", proc.OnEOF, true},
	{Fault{At: Initialized, Do: StopReading}, true, "killed by SIGTERM", proc.OnTerm, false},
	{Fault{At: CallTool, Do: EndlessLine}, true, "", "", false},
	{Fault{At: CallTool, Do: Stderr, Text: "oh", Size: 3}, true, "exit status 0", proc.OnEOF, false},
}

func TestBehavioursOfAChild(t *testing.T) {
	for _, tt := range childTable {
		t.Run(string(tt.fault.Do), func(t *testing.T) {
			t.Parallel()
			child, script := launch(t, Good().With(tt.fault))
			input := hello + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
			if tt.asked {
				input += call + "\n"
			}
			say(t, child, input)
			grace := guard
			switch {
			case tt.stage == proc.OnTerm:
				grace = 50 * time.Millisecond // in which it doesn't end
			case tt.stage == proc.Exited:
				<-child.Done()
			case tt.exit == "":
				expectEndless(t, child)
				child.Kill()
			}
			await(t, script, tt.asked && tt.fault.Do != StopReading)
			report := child.Close(grace, guard)
			if tt.exit != "" && (report.Exit != tt.exit || report.Stage != tt.stage || report.Escaped != tt.escape) {
				t.Errorf("%+v, want %s on %s", report, tt.exit, tt.stage)
			}
			if want := tt.fault.Text + strings.Repeat("x", int(tt.fault.Size)); child.Stderr() != want {
				t.Errorf("stderr: %q", child.Stderr())
			}
			allGone(t, script)
		})
	}
}

// Every behaviour that can happen on a pipe is in the table above, or tried with a real
// child; every other is tried over HTTP.
func TestEveryBehaviourIsTried(t *testing.T) {
	tried := map[Behaviour]bool{}
	for _, row := range stdioTable {
		tried[row.fault.Do] = true
	}
	for _, row := range childTable {
		tried[row.fault.Do] = true
	}
	for _, row := range httpTable {
		tried[row.fault.Do] = true
	}
	for b := range behaviours {
		if !tried[b] {
			t.Errorf("%q is not", b)
		}
	}
}

func launch(t *testing.T, script Script) (*proc.Process, Script) {
	t.Helper()
	script.Record = filepath.Join(t.TempDir(), "record")
	path, args := script.Command()
	child, err := proc.Start(proc.Spec{Name: "mcptest", Path: path, Args: args, Env: []string{"A=1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { child.Close(0, 0) })
	_ = child.Stdin().SetWriteDeadline(time.Now().Add(guard))
	_ = child.Stdout().SetReadDeadline(time.Now().Add(guard))
	return child, script
}

func say(t *testing.T, child *proc.Process, text string) {
	t.Helper()
	// A child that has crashed or ended meanwhile hears no more.
	if _, err := io.WriteString(child.Stdin(), text); err != nil && !errors.Is(err, syscall.EPIPE) {
		t.Fatal(err)
	}
	line, err := bufio.NewReaderSize(child.Stdout(), 16).ReadString('\n')
	if err != nil || !strings.Contains(line, `"protocolVersion":"2025-06-18"`) {
		t.Fatalf("%q, %v", line, err)
	}
}

func expectEndless(t *testing.T, child *proc.Process) {
	if n, err := io.CopyN(io.Discard, child.Stdout(), 4<<20); err != nil {
		t.Errorf("after %d bytes: %v", n, err)
	}
}

// await waits until the child has seen the call, or the handshake.
func await(t *testing.T, script Script, call bool) {
	t.Helper()
	for deadline := time.Now().Add(guard); ; time.Sleep(time.Millisecond) {
		record, err := ReadRecord(script.Record)
		if err != nil {
			t.Fatal(err)
		}
		forks := script.Faults[0].Do == Escape || script.Faults[0].Do == Grandchild
		method := "notifications/initialized"
		if call {
			method = "tools/call"
		}
		if record.Count(method) == 1 && (!forks || len(record.Of(Forked)) == 1) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", record)
		}
	}
}

// allGone waits until no process of the record is left; a zombie that init hasn't got to yet is none.
func allGone(t *testing.T, script Script) {
	t.Helper()
	record, err := ReadRecord(script.Record)
	if err != nil || len(record.PIDs()) == 0 {
		t.Fatalf("%+v, %v", record, err)
	}
	for _, pid := range record.PIDs() {
		for deadline := time.Now().Add(guard); ; time.Sleep(time.Millisecond) {
			stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			_, state, _ := strings.Cut(string(stat), ") ")
			if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || strings.HasPrefix(state, "Z") {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("process %d is still there", pid)
			}
		}
	}
}

func TestRecordOfAChild(t *testing.T) {
	child, script := launch(t, Good())
	say(t, child, hello+"\n"+call+"\n")
	child.Close(guard, guard)
	record, err := ReadRecord(script.Record)
	if err != nil || len(record) < 3 {
		t.Fatalf("%+v, %v", record, err)
	}
	first, last := record[0], record[len(record)-1]
	if first.Kind != Started || first.PID != child.Pid() || strings.Join(first.Env, " ") != "A=1" || last.Kind != Ended {
		t.Errorf("%+v", record)
	}
	if record.Count("initialize") != 1 || record.Count("tools/call") != 1 || string(record.Of(Received)[1].Message) != call {
		t.Errorf("%+v", record)
	}
	if empty, err := ReadRecord(script.Record + "-missing"); empty != nil || err != nil {
		t.Error(empty, err)
	}
	if err := os.WriteFile(script.Record, []byte("no JSON\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadRecord(script.Record); err == nil {
		t.Error("a broken record was read")
	}
	if err := os.WriteFile(script.Record, []byte("{\"kind\":\"started\"}\n{\"kind\":"), 0o600); err != nil {
		t.Fatal(err)
	}
	if record, err := ReadRecord(script.Record); err != nil || len(record) != 1 {
		t.Errorf("while a line is being written: %+v, %v", record, err)
	}
}

func TestChildThatOnlyDiesByForce(t *testing.T) {
	child, _ := launch(t, Good().With(Fault{At: Start, Do: IgnoreEOF}, Fault{At: Start, Do: IgnoreTerm}))
	say(t, child, hello+"\n")
	if r := child.Close(0, 50*time.Millisecond); r.Stage != proc.OnKill {
		t.Errorf("%+v", r)
	}
}

func TestLifeEndsAChild(t *testing.T) {
	script := Good().With(Fault{At: Start, Do: IgnoreEOF})
	script.Life = 20 * time.Millisecond
	child, _ := launch(t, script)
	select {
	case <-child.Done():
	case <-time.After(guard):
		t.Fatal("it lives on")
	}
	if child.Exit() != "exit status 98" {
		t.Error(child.Exit())
	}
}

func TestArgumentThatIsNoScript(t *testing.T) {
	path, _ := Good().Command()
	child, err := proc.Start(proc.Spec{Path: path, Args: []string{childFlag + "?"}})
	if err != nil {
		t.Fatal(err)
	}
	<-child.Done()
	child.Close()
	if child.Exit() != "exit status 2" || !strings.Contains(child.Stderr(), "is no script") {
		t.Error(child.Exit(), child.Stderr())
	}
}
