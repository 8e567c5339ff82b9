package mcpraw

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/cupule/cupule/bench/internal/echo"
)

func TestReply(t *testing.T) {
	for _, test := range []struct{ message, want string }{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, `"protocolVersion":"2025-11-25"`},
		{`{"jsonrpc":"2.0","id":"a","method":"tools/list"}`, `"name":"big"`},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"<a>\n"}}}`, `"text":"<a>\n"`},
		{`{"jsonrpc":"2.0","id":3,"method":"server/discover"}`, `"code":-32601`},
	} {
		got, err := Reply([]byte(test.message))
		if err != nil || !json.Valid(got) || !strings.Contains(string(got), test.want) {
			t.Errorf("%s:\n%s, %v", test.message, got, err)
		}
	}
	if got, err := Reply([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); got != nil || err != nil {
		t.Errorf("a notification got %q, %v", got, err)
	}
	if _, err := Reply([]byte(`{`)); err == nil {
		t.Error("half a message was taken")
	}
}

func TestLargeResults(t *testing.T) {
	for _, size := range []int{1, 19, 64_000, 64_001, 1 << 20} {
		arguments, err := json.Marshal(echo.Size{Size: size})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Reply([]byte(`{"id":1,"method":"tools/call","params":{"name":"big","arguments":` + string(arguments) + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := echo.ToolResult(echo.Text(size))(got); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

func TestServeUntilTheEnd(t *testing.T) {
	call := string(echo.ToolCall("x")(7))
	var out bytes.Buffer
	if err := Serve(strings.NewReader(call+"\n"+call+"\n"), &out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 2 {
		t.Errorf("%d replies: %s", n, out.String())
	}
}
