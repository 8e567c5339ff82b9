package interop

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cupule/cupule/registry"
)

// parallel is how many calls the scripts have in flight at once.
const parallel = 20

func TestEditorOverStdio(t *testing.T) {
	p := need(t)
	arguments, wire := configure(t, p, "")
	steps, talk := play(t, p, "editor.cjs", map[string]any{"command": arguments})
	checkEditor(t, steps)
	checkCancelled(t, wire, talk)
	checkDrained(t, steps)
	reportServed(talk)
}

// checkDrained judges the end: the service was told to stop in the middle of a call.
func checkDrained(t *testing.T, steps map[string]step) {
	t.Helper()
	if got := steps["drained"].said(t); !strings.HasPrefix(got, "Long running operation completed") {
		t.Errorf("the call that ran: %s", got)
	}
	var reports []registry.Progress
	if err := json.Unmarshal(steps["drained reports"].Value, &reports); err != nil || len(reports) != 10 {
		t.Errorf("%v %v", reports, err)
	}
	if late := steps["late"]; late.Code != int(registry.KindShuttingDown.Code()) {
		t.Errorf("a call that came later: %+v", late)
	}
	if end, ended := steps["exit"]; !ended || end.Code != 0 || end.Message != "" {
		t.Errorf("cupule serve ended with %d %s", end.Code, end.Message)
	}
}

func TestEditorOverUnixSocket(t *testing.T) {
	p := need(t)
	s := serve(t, p, "unix:./s")
	path := strings.TrimPrefix(s.address(t), "unix:")
	steps, talk := play(t, p, "editor.cjs", map[string]any{"path": path})
	checkEditor(t, steps)
	checkCancelled(t, s.wire, talk)
}

func TestEditorOverTCP(t *testing.T) {
	p := need(t)
	s := serve(t, p, "tcp://127.0.0.1:0")
	steps, talk := play(t, p, "editor.cjs", map[string]any{"port": port(t, s.address(t)), "token": token})
	if got := steps["unauthenticated"].Code; got != int(registry.KindUnauthenticated.Code()) {
		t.Errorf("without a token: %+v", steps["unauthenticated"])
	}
	checkEditor(t, steps)
	checkCancelled(t, s.wire, talk)
}

func port(t *testing.T, address string) int {
	t.Helper()
	_, text, err := net.SplitHostPort(strings.TrimPrefix(address, "tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// checkEditor judges what editor.cjs was answered.
func checkEditor(t *testing.T, steps map[string]step) {
	t.Helper()
	for name, want := range map[string]string{
		"echo": "Echo: é 😀 \u2028 <&>", "large": "Echo: " + strings.Repeat("x", 100_000), "alive": "The sum of 1 and 1 is 2.",
	} {
		if got := steps[name].said(t); got != want {
			t.Errorf("%s: %d bytes, %.200q", name, len(got), got)
		}
	}
	for n := range parallel {
		if got := steps[fmt.Sprintf("parallel %d", n)].said(t); got != fmt.Sprintf("The sum of %d and 1 is %d.", n, n+1) {
			t.Errorf("parallel %d: %s", n, got)
		}
	}
	if got := string(steps["resolve"].Value); !strings.Contains(got, `"title":"DOI Handbook"`) {
		t.Error(got)
	}
	if got := string(steps["tool error"].Value); !strings.Contains(got, `"isError":true`) {
		t.Errorf("%+v", steps["tool error"])
	}
	checkRefusals(t, steps)
	checkReports(t, steps)
	checkDiscovered(t, steps["discover"])
	if s, ok := steps["unhandled"]; ok {
		t.Errorf("a notification that nobody asked for: %s", s.Value)
	}
	if s, ok := steps["connection error"]; ok {
		t.Errorf("%+v", s)
	}
}

// checkDiscovered sees to it that a caller without authority is told of what it may use.
func checkDiscovered(t *testing.T, s step) {
	t.Helper()
	var document struct{ Methods []struct{ Name string } }
	if err := json.Unmarshal(s.Value, &document); err != nil {
		t.Fatalf("%v: %+v", err, s)
	}
	var names []string
	for _, m := range document.Methods {
		names = append(names, m.Name)
	}
	if want := []string{"demo.echo", "demo.slow", "demo.sum", "demo.weather", "identifier.resolve"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
}

func checkRefusals(t *testing.T, steps map[string]step) {
	t.Helper()
	for name, kind := range map[string]registry.Kind{
		"unknown": registry.KindMethodNotFound, "invalid": registry.KindInvalidParams, "by position": registry.KindInvalidParams,
		"denied": registry.KindDenied, "cancelled": registry.KindCancelled,
	} {
		var data struct{ Kind registry.Kind }
		s := steps[name]
		if err := json.Unmarshal(s.Data, &data); err != nil || s.Code != int(kind.Code()) || data.Kind != kind || s.Message == "" {
			t.Errorf("%s: %d %q %s", name, s.Code, s.Message, s.Data)
		}
	}
}

func checkReports(t *testing.T, steps map[string]step) {
	t.Helper()
	want := []registry.Progress{{Progress: 1, Total: 4}, {Progress: 2, Total: 4}, {Progress: 3, Total: 4}, {Progress: 4, Total: 4}}
	for _, name := range []string{"integer token", "string token"} {
		_ = steps[name].said(t)
		var got []registry.Progress
		if err := json.Unmarshal(steps[name+" reports"].Value, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// checkCancelled sees to it that the MCP server was told which of its calls was cancelled, and
// shows both conversations.
func checkCancelled(t *testing.T, wire, talk string) {
	t.Helper()
	for text := range strings.Lines(talk) {
		if strings.Contains(text, `"$/`) || strings.Contains(text, "-32800") {
			t.Logf("vscode-jsonrpc: %s", strings.TrimSpace(text))
		}
	}
	calls, notices := longCalls(t, wire), seen(readTranscript(t, wire), "notifications/cancelled")
	show(t, append(calls, notices...))
	checkNotice(t, calls, notices)
}
