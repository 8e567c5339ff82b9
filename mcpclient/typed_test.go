package mcpclient

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/mcpclient/mcptest"
)

func TestTypedOfIllTypedDefinitions(t *testing.T) {
	for _, row := range []struct{ member, want string }{
		{`"icons":[{"src":"https://example.org/a.png"}],"_meta":{"a":1}`, ""},
		{`"icons":null,"_meta":null`, ""},
		{`"icons":"x"`, "its icons has string where"},
		{`"icons":[1]`, "its icons has number where"},
		{`"icons":[{"src":1}]`, "its icons.src has number where"},
		{`"_meta":[]`, "its _meta has array where"},
		{`"_meta":"x"`, "its _meta has string where"},
	} {
		raw := json.RawMessage(`{"name":"a","uri":"docs://a","uriTemplate":"docs://{a}","inputSchema":{"type":"object"},` + row.member + `}`)
		for kind, typed := range map[string]func() (any, error){
			"tool":     func() (any, error) { return (&Tool{Raw: raw}).Typed() },
			"resource": func() (any, error) { return (&Resource{Raw: raw}).Typed() },
			"template": func() (any, error) { return (&ResourceTemplate{Raw: raw}).Typed() },
			"prompt":   func() (any, error) { return (&Prompt{Raw: raw}).Typed() },
		} {
			_, err := typed()
			var ill *json.UnmarshalTypeError
			if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want) || !errors.As(err, &ill)) {
				t.Errorf("%s with %s: %v", kind, row.member, err)
			}
		}
	}
}

// TestIllTypedIconsStopNobody lists and calls a tool whose icons are none.
func TestIllTypedIconsStopNobody(t *testing.T) {
	script := mcptest.Good()
	script.Tools = []mcptest.Tool{{Name: "echo", Definition: json.RawMessage(`{"name":"echo","inputSchema":{"type":"object"},"icons":"x","_meta":[]}`)}}
	s := scriptedServer(t, true, script, rule("echo"))
	c := newClient(t, map[string]*config.Server{"lib": s.Server})
	tools, err := c.ListTools(t.Context(), "lib", nobody)
	if err != nil || len(tools) != 1 {
		t.Fatalf("%+v %v", tools, err)
	}
	if typed, err := tools[0].Typed(); err == nil || !strings.Contains(err.Error(), "its icons has string") {
		t.Errorf("%+v %v", typed, err)
	}
	if _, err := c.CallTool(t.Context(), "lib", "echo", nil, nobody); err != nil {
		t.Error(err)
	}
}
