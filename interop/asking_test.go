package interop

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A server that asks for what this client says it can't do is refused in the protocol's own
// words, each question under its own id, and the call goes on.
func TestQuestionsOfTheServer(t *testing.T) {
	p := need(t)
	env := ", env: {NODE_PATH: MODULES}"
	server := "    stdio: {command: " + quote(p.node) + ", args: " + quote([]string{script(t, "asking.cjs")}) + env + "}\n    startup: 30"
	c := connect(t, server, map[string]string{"MODULES": p.module("")})
	var got map[string]any
	if err := json.Unmarshal([]byte(text(t, call(t, c, "echo", ""))), &got); err != nil {
		t.Fatal(err)
	}
	refused := float64(-32601)
	want := map[string]any{"ping": map[string]any{}, "roots/list": refused, "sampling/createMessage": refused, "elicitation/create": refused}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
