package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/cupule/cupule/mcpclient/mcptest"
)

// catalog is a configuration of a server with tools, resources and prompts.
func catalog(t *testing.T) string {
	script := mcptest.Good()
	script.Tools = append(script.Tools, mcptest.Tool{Name: "claims", Description: "one line\nand another",
		Annotations: json.RawMessage(`{"readOnlyHint":true,"idempotentHint":true,"destructiveHint":true,"openWorldHint":true}`)},
		mcptest.Tool{Name: "fails", IsError: true, Text: "no luck"})
	script.Prompts[0].Description = "Say it \x1b[31magain"
	return configFile(t, object{
		"mcp": object{"s": stdioServer(script, object{
			"allowed": declares("echo", "claims", "fails"), "resources": declares("docs://*"), "prompts": declares("repeat", "show"),
		})},
		"operations": object{"say": object{"tool": "s/echo"}},
	})
}

func TestCatalogCommands(t *testing.T) {
	file := catalog(t)
	for _, test := range []struct {
		args  string
		code  int
		words []string
	}{
		{"mcp tools s", 0, []string{"TOOL", "echo", "Give the arguments back", "readOnlyHint, idempotentHint, destructiveHint, openWorldHint", "one line"}},
		{"mcp tools s -o json", 0, []string{`"name": "claims"`, `"definition": {`}},
		{"mcp call s fails {}", 1, []string{"no luck", "the tool reported an error"}},
		{"mcp call s echo {", 2, []string{"not valid JSON"}},
		{"mcp call s missing {}", 2, []string{"missing"}},
		{"mcp resources s", 0, []string{"RESOURCE", "docs://readme", "text/plain", "docs://pages/{page}", "image/png"}},
		{"mcp resources s -o json", 0, []string{`"uriTemplate": "docs://pages/{page}"`, `"uri": "docs://logo"`}},
		{"mcp resources nowhere", 2, []string{"nowhere"}},
		{"mcp read s docs://readme", 0, []string{`"text":"read me"`}},
		{"mcp read s docs://pages/7 -o yaml", 0, []string{"text: a page"}},
		{"mcp read s other://x", 2, []string{"other://x"}},
		{"mcp prompts s", 0, []string{"PROMPT", "repeat", "text", "Say it \ufffd[31magain", "show"}},
		{"mcp prompts s -o yaml", 0, []string{"name: repeat", "arguments:\n    - text"}},
		{"mcp prompts nowhere", 2, []string{"nowhere"}},
		{`mcp prompt s repeat {"text":"hello"}`, 0, []string{"hello"}},
		{"mcp prompt s show", 0, []string{"look"}},
		{"mcp prompt s show [1]", 2, []string{"an object whose values are strings"}},
		{"mcp prompt s none", 2, []string{"none"}},
		{"mcp servers -o json", 0, []string{`"transport": "stdio"`, `"docs://*"`}},
		{"mcp", 0, []string{"Available Commands"}},
		{"", 0, []string{"Available Commands"}},
		{"invoke say - -o yaml", 0, []string{"content:"}},
		{"check --live", 0, []string{"s: protocol", "3 tools advertised, 3 of them usable"}},
		{"check --live --caller nobody", 2, []string{"declares no such caller"}},
		{"ops --timeout 0.0000000001", 2, []string{"at least 0.000000001"}},
		{"ops --max-output 5", 2, []string{"is no size: write a number"}},
		{"ops --authorize process", 2, []string{"only mutation and inference"}},
	} {
		args := append(strings.Fields(test.args), "-c", file)
		runIn(t.Context(), `{"a": 1}`, false, nil, args...).holds(t, test.args, test.code, test.words...)
	}
}

func TestCheckLiveTellsOfEveryServer(t *testing.T) {
	claims := mcptest.Script{Tools: []mcptest.Tool{{Name: "claims", Annotations: json.RawMessage(`{"readOnlyHint":true}`)}}}
	file := configFile(t, object{"mcp": object{
		"a": object{"stdio": object{"command": "/no/such/command"}, "allowed": declares("x")},
		"b": stdioServer(claims, object{"allowed": object{"claims": object{"effects": []string{"mutation"}}, "gone": object{"effects": []string{}}}}),
	}})
	got := runHere(t, false, nil, "check", "--live", "-c", file, "--authorize", "mutation")
	got.holds(t, "check", 2, "mcp.a", "b: protocol", "tool b/gone", "tool b/claims")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := runIn(ctx, "", false, nil, "check", "--live", "-c", file); got.code == 0 {
		t.Errorf("cancelled: %+v", got)
	}
}

// A person at a terminal sees how far a call has come, and nothing is left of it.
func TestProgressOnATerminal(t *testing.T) {
	script := mcptest.Good().With(mcptest.Fault{At: mcptest.CallTool, Do: mcptest.Progress})
	file := configFile(t, object{
		"mcp":        object{"s": stdioServer(script, object{"allowed": declares("echo")})},
		"operations": object{"say": object{"tool": "s/echo"}},
	})
	for _, args := range [][]string{{"mcp", "call", "s", "echo", "{}"}, {"invoke", "say", "{}"}} {
		got := runHere(t, true, nil, append(args, "-c", file)...)
		got.holds(t, args[0], 0)
		if !strings.Contains(got.talk, "\r\x1b[K") || !strings.HasSuffix(got.talk, "\r\x1b[K") {
			t.Errorf("%v said %q", args, got.talk)
		}
		if quiet := runHere(t, false, nil, append(args, "-c", file)...); quiet.talk != "" {
			t.Errorf("%v said %q without a terminal", args, quiet.talk)
		}
	}
}

// Whether a call that failed may have run is told, with how far it came.
func TestFailedCallsSayWhetherTheyRan(t *testing.T) {
	for _, test := range []struct {
		name  string
		fault mcptest.Fault
		flags []string
		code  int
		words []string
	}{
		{"silent", mcptest.Fault{At: mcptest.CallTool, Do: mcptest.Silent}, []string{"--timeout", "1"}, 4, []string{"cupule: timeout: ", "  limit: timeout 1s", "  phase: call", "  ran: sent"}},
		{"silent before", mcptest.Fault{At: mcptest.Start, Do: mcptest.StopReading}, []string{"--timeout", "1"}, 4, []string{"cupule: timeout: ", "  ran: not_sent"}},
		{"crash", mcptest.Fault{At: mcptest.CallTool, Do: mcptest.CrashBefore}, nil, 5, []string{"cupule: outcome_unknown: ", "  ran: sent"}},
		{"large", mcptest.Fault{}, []string{"--max-output", "10B"}, 5, []string{"cupule: output_too_large: ", "  limit: max_output 10 bytes of caller", "  ran: completed"}},
	} {
		script := mcptest.Good()
		if test.fault.Do != "" {
			script = script.With(test.fault)
		}
		file := configFile(t, object{"mcp": object{"s": stdioServer(script, object{"allowed": declares("echo")})}})
		args := append([]string{"mcp", "call", "s", "echo", `{"a":"0123456789"}`, "-c", file}, test.flags...)
		runHere(t, false, nil, args...).holds(t, test.name, test.code, test.words...)
	}
}

func TestInputs(t *testing.T) {
	file := catalog(t)
	large := strings.Repeat(" ", maxInput+1)
	for _, test := range []struct {
		args, in string
		code     int
		words    []string
	}{
		{"invoke say -", `{"a":`, 2, []string{"not valid JSON"}},
		{"invoke say -", large, 2, []string{"more than"}},
		{"invoke say", "", 0, []string{"content"}},
		{"invoke none {}", "", 2, []string{"cupule ops lists them"}},
		{"explain none", "", 2, []string{"cupule ops lists them"}},
		{"mcp import /no/such/file", "", 2, []string{"/no/such/file"}},
		{"mcp import -", `{"mcpServers":{"new":{"command":"npx","args":["-y","x"],"env":{"API_TOKEN":"0123456789abcdef0123"}}}}`, 0, []string{"added server new", "set ", "API_TOKEN"}},
		{"mcp import -", `{"mcpServers":{"new":{"command":"x"}}}`, 2, []string{"has a server \"new\" already"}},
		{"mcp import -", `{}`, 2, []string{"cupule:"}},
		{"version -o json", "", 0, []string{"go"}},
		{"schema", "", 0, []string{"$schema"}},
	} {
		args := append(strings.Fields(test.args), "-c", file)
		runIn(t.Context(), test.in, false, nil, args...).holds(t, test.args, test.code, test.words...)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}
