package interop

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cupule/cupule/registry"
)

func TestJaysonOverHTTP(t *testing.T) {
	p := need(t)
	s := serve(t, p, "http://127.0.0.1:0/rpc")
	steps, _ := play(t, p, "jayson.cjs", map[string]any{"url": s.address(t), "token": token})
	checkJayson(t, steps)
	if got, sent := steps["batch of notifications"]; !sent || len(replies(t, got)) > 0 {
		t.Errorf("batch of notifications: %+v", got)
	}
	checkHeard(t, s, "nobody hears this", "nor this", "nor that")
}

// Without a token, or with a wrong one, jayson is told so by HTTP itself.
func TestJaysonWithoutToken(t *testing.T) {
	p := need(t)
	s := serve(t, p, "http://127.0.0.1:0/rpc")
	for _, token := range []string{"", "wrong"} {
		steps, _ := play(t, p, "jayson.cjs", map[string]any{"url": s.address(t), "token": token})
		for name, step := range steps {
			if step.Code != 401 {
				t.Errorf("%s with the token %q: %+v", name, token, step)
			}
		}
	}
	if calls := s.log.text(); strings.Contains(calls, "outcome=ok") {
		t.Error(calls)
	}
}

// jayson has no way to authenticate over TCP, where it opens a connection for each request;
// behind a notification it half-closes at once.
func TestJaysonOverTCP(t *testing.T) {
	p := need(t)
	s := serve(t, p, "{address: \"tcp://127.0.0.1:0\", anonymous: true}")
	steps, _ := play(t, p, "jayson.cjs", map[string]any{"port": port(t, s.address(t))})
	checkJayson(t, steps)
	checkHeard(t, s, "nobody hears this", "nor this")
}

// reply is what the library passes on of one response.
type reply struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code int
		Data struct{ Kind registry.Kind }
	} `json:"error"`
}

func (r reply) String() string {
	if r.Error != nil {
		return fmt.Sprintf("%s: %s %d", r.ID, r.Error.Data.Kind, r.Error.Code)
	}
	var result struct{ Content []struct{ Text string } }
	if json.Unmarshal(r.Result, &result) != nil || len(result.Content) == 0 {
		return fmt.Sprintf("%s: %s", r.ID, r.Result)
	}
	return fmt.Sprintf("%s: %s", r.ID, result.Content[0].Text)
}

func checkJayson(t *testing.T, steps map[string]step) {
	t.Helper()
	want := map[string]string{
		"string id": `"an id": The sum of 1 and 2 is 3.`, "zero id": "0: The sum of 1 and 2 is 3.", "fractional id": "1.5: The sum of 1 and 2 is 3.",
		"unknown": "1: method_not_found -32601", "invalid": "2: invalid_params -32602", "denied": "3: denied -32001",
		"batch":       `"a": The sum of 1 and 1 is 2., "b": method_not_found -32601, "c": The sum of 2 and 2 is 4.`,
		"empty batch": "null: invalid_request -32600", "version 1": "9: invalid_request -32600",
		"notification": "",
	}
	for n := range parallel {
		want[fmt.Sprintf("parallel %d", n)] = fmt.Sprintf("%d: The sum of %d and 1 is %d.", n, n, n+1)
	}
	got := map[string]string{}
	for name, s := range steps {
		got[name] = strings.Join(replies(t, s), ", ")
	}
	if _, id, ok := strings.Cut(got["echo"], "Echo: é 😀 \u2028 <&>"); !ok || id != "" {
		t.Errorf("echo: %s", got["echo"])
	}
	delete(got, "echo")
	delete(got, "batch of notifications")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// replies returns what a step was answered with: one response, a batch, or nothing.
func replies(t *testing.T, s step) []string {
	t.Helper()
	text := string(s.Value)
	if s.Code == http.StatusBadRequest {
		text = s.Message // the library hands on the body of a reply with such a status as text
	} else if s.Message != "" {
		return []string{fmt.Sprintf("failed with %d %s", s.Code, s.Message)}
	}
	if text == "" {
		return nil
	}
	if text[0] != '[' {
		text = "[" + text + "]"
	}
	var list []reply
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%s: %v: %s", s.Step, err, text)
	}
	var words []string
	for _, r := range list {
		if r.Version != "2.0" {
			t.Errorf("%s: %s", s.Step, text)
		}
		words = append(words, r.String())
	}
	return words
}

// checkHeard sees to it that notifications ran, though nobody was told.
func checkHeard(t *testing.T, s *service, want ...string) {
	t.Helper()
	for end := time.Now().Add(guard); ; time.Sleep(10 * time.Millisecond) {
		missing := 0
		heard := fmt.Sprint(seen(readTranscript(t, s.wire), "tools/call"))
		for _, text := range want {
			if !strings.Contains(heard, text) {
				missing++
			}
		}
		if missing == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d notifications did not run: %s", missing, heard)
		}
	}
}
