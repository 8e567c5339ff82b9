package interop

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Over HTTP, progress comes as server-sent events in front of the reply, and hanging up cancels
// the call, which the MCP server is told.
func TestStreamOverHTTP(t *testing.T) {
	p := need(t)
	s := serve(t, p, "http://127.0.0.1:0/rpc")
	steps, _ := play(t, p, "stream.cjs", map[string]any{"url": s.address(t), "token": token})
	if first := steps["whole"]; first.Code != 200 || first.Message != "text/event-stream" {
		t.Errorf("%d %s", first.Code, first.Message)
	}
	for n := 1; n <= 3; n++ {
		var got any
		if err := json.Unmarshal(steps[fmt.Sprintf("whole %d", n+1)].Value, &got); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"jsonrpc": "2.0", "method": "$/progress", "params": map[string]any{
			"token": "whole", "value": map[string]any{"progress": float64(n), "total": 3.0},
		}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	if last := string(steps["whole 5"].Value); !strings.HasPrefix(last, `{"jsonrpc":"2.0","id":1,"result":{`) {
		t.Error(last)
	}
	checkHangUp(t, s)
}

func checkHangUp(t *testing.T, s *service) {
	t.Helper()
	for end := time.Now().Add(guard); ; time.Sleep(10 * time.Millisecond) {
		notices := seen(readTranscript(t, s.wire), "notifications/cancelled")
		if len(notices) > 0 {
			show(t, notices)
			checkNotice(t, longCalls(t, s.wire), notices)
			return
		}
		if time.Now().After(end) {
			t.Fatal("the MCP server was not told that the caller has gone")
		}
	}
}

// longCalls returns the calls that a server saw and that take longer than any test.
func longCalls(t *testing.T, wire string) []line {
	t.Helper()
	var calls []line
	for _, c := range seen(readTranscript(t, wire), "tools/call") {
		if strings.Contains(c.text, `"duration":15`) {
			calls = append(calls, c)
		}
	}
	return calls
}
