package mcptest

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// A good server answers each request once, in JSON with its id, and nothing else, whatever comes in.
func FuzzGoodServer(f *testing.F) {
	for _, line := range []string{hello, call, list, ping, `{"id":1}`, `[]`, `{"jsonrpc":"2.0","id":{},"method":"prompts/get","params":[]}`, "{"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.ContainsAny(line, "\n\r") || strings.Contains(line, "subscriptions") {
			return
		}
		var out bytes.Buffer
		p := newPeer(Good(), &recorder{})
		p.serve(strings.NewReader(line+"\n"), &lineWire{out: &out})
		m, err := parse([]byte(strings.TrimSpace(line)))
		if want := err != nil && strings.TrimSpace(line) != "" || err == nil && m.isRequest(); want != (out.Len() > 0) {
			t.Fatalf("%q was answered with %q", line, out.Bytes())
		}
		for dec := json.NewDecoder(&out); ; {
			var answer struct{ ID json.RawMessage }
			if err := dec.Decode(&answer); err == io.EOF {
				return
			} else if err != nil {
				t.Fatalf("%q was answered with no JSON: %v", line, err)
			}
			if m.isRequest() && !bytes.Equal(answer.ID, m.ID) {
				t.Errorf("%q was answered with the id %s", line, answer.ID)
			}
		}
	})
}
