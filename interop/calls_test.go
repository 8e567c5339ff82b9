package interop

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cupule/cupule/mcpclient"
	"github.com/cupule/cupule/registry"
)

func longRunning(args string, progress func(registry.Progress)) mcpclient.ToolCall {
	return mcpclient.ToolCall{
		Server: "everything", Tool: "trigger-long-running-operation", Args: json.RawMessage(args),
		Invocation: everybody, Progress: progress,
	}
}

func TestProgress(t *testing.T) {
	overBoth(t, func(t *testing.T, c *mcpclient.Client) {
		var got []registry.Progress
		r, err := c.Call(t.Context(), longRunning(`{"duration":0.2,"steps":4}`, func(p registry.Progress) { got = append(got, p) }))
		if err != nil {
			t.Fatal(err)
		}
		want := []registry.Progress{{Progress: 1, Total: 4}, {Progress: 2, Total: 4}, {Progress: 3, Total: 4}, {Progress: 4, Total: 4}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if said := text(t, r); said != "Long running operation completed. Duration: 0.2 seconds, Steps: 4." {
			t.Error(said)
		}
	})
}

// Nobody asks for progress that nobody is told of.
func TestProgressToken(t *testing.T) {
	p := need(t)
	file := filepath.Join(t.TempDir(), "wire")
	c := connect(t, viaTee(t, file, p.node, p.everything(), "stdio"), nil)
	for _, progress := range []func(registry.Progress){nil, func(registry.Progress) {}} {
		if _, err := c.Call(t.Context(), longRunning(`{"duration":0.01,"steps":2}`, progress)); err != nil {
			t.Fatal(err)
		}
	}
	calls := seen(readTranscript(t, file), "tools/call")
	if len(calls) != 2 {
		t.Fatalf("%d calls", len(calls))
	}
	for i, want := range []string{"", string(calls[1].ID)} {
		if got := progressToken(t, calls[i]); got != want {
			t.Errorf("call %d has the token %s, want %s", i, got, want)
		}
	}
}

func progressToken(t *testing.T, call line) string {
	t.Helper()
	var params struct {
		Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
	}
	if err := json.Unmarshal(call.Params, &params); err != nil {
		t.Fatal(err)
	}
	return string(params.Meta.ProgressToken)
}

// A cancelled call comes back at once, and the server is told which one it was.
func TestCancellation(t *testing.T) {
	t.Run("stdio", func(t *testing.T) {
		p := need(t)
		file := filepath.Join(t.TempDir(), "wire")
		cancelLong(t, connect(t, viaTee(t, file, p.node, p.everything(), "stdio"), nil))
		waitForProcesses(t, p.dir)
		list := readTranscript(t, file)
		show(t, list)
		checkNotice(t, seen(list, "tools/call"), seen(list, "notifications/cancelled"))
	})
	t.Run("http", func(t *testing.T) {
		p := need(t)
		w, address := startWatch(t, serveEverything(t, p))
		cancelLong(t, connect(t, overHTTP(address), nil))
		notice := w.await(t, "notifications/cancelled")
		var calls []line
		for _, e := range w.exchanges() {
			t.Logf("server sees: %s %s", e.Verb, e.text)
			if e.Method == "tools/call" {
				calls = append(calls, e.line)
			}
		}
		checkNotice(t, calls, []line{notice.line})
	})
}

func cancelLong(t *testing.T, c *mcpclient.Client) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var cancelled time.Time
	_, err := c.Call(ctx, longRunning(`{"duration":15,"steps":300}`, func(registry.Progress) {
		if cancelled.IsZero() {
			cancelled = time.Now()
			cancel()
		}
	}))
	wantError(t, err, registry.KindCancelled, registry.Sent)
	if late := time.Since(cancelled); late > 2*time.Second {
		t.Errorf("back %v after the cancellation", late)
	}
}

func checkNotice(t *testing.T, calls, notices []line) {
	t.Helper()
	if len(calls) != 1 || len(notices) != 1 {
		t.Fatalf("the server saw %d calls and %d notices", len(calls), len(notices))
	}
	var params struct{ RequestID json.RawMessage }
	if err := json.Unmarshal(notices[0].Params, &params); err != nil || string(params.RequestID) != string(calls[0].ID) {
		t.Errorf("the call %s is cancelled by %s", calls[0].ID, notices[0].text)
	}
}

// waitForProcesses waits until the children of finished sessions have gone.
func waitForProcesses(t *testing.T, dir string) {
	t.Helper()
	for end := time.Now().Add(guard); len(processes(dir)) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("left: %v", processes(dir))
		}
	}
}

// A timeout is that of the call, and names whose it is.
func TestTimeout(t *testing.T) {
	overBoth(t, func(t *testing.T, c *mcpclient.Client) {
		session := open(t, c)
		call := longRunning(`{"duration":15}`, nil)
		call.Invocation = everybody.WithTimeout(time.Second)
		began := time.Now()
		_, err := session.Call(t.Context(), call)
		e := wantError(t, err, registry.KindTimeout, registry.Sent)
		if e.Limit == nil || !strings.HasPrefix(e.Limit.Whose, "caller") || time.Since(began) > 3*time.Second {
			t.Errorf("after %v: %+v", time.Since(began), e.Limit)
		}
	})
}
