package interop

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A child sees the configured variables and no other, not even PATH.
func TestEnvironment(t *testing.T) {
	t.Setenv("CUPULE_INTEROP_SECRET", "of this process alone")
	host := map[string]string{"MY_TOKEN": "s3cr3t = 'x'\n\"y\"", "MY_EMPTY": "", "OTHER": "not given on"}
	for name, row := range map[string]struct {
		env  string
		want map[string]string
	}{
		"no key": {"", map[string]string{}},
		"empty":  {", env: {}", map[string]string{}},
		"three":  {", env: {TOKEN: MY_TOKEN, EMPTY: MY_EMPTY, PATH: MY_TOKEN}", map[string]string{"TOKEN": host["MY_TOKEN"], "EMPTY": "", "PATH": host["MY_TOKEN"]}},
	} {
		t.Run(name, func(t *testing.T) {
			p := need(t)
			server := "    stdio: {command: " + quote(p.node) + ", args: " + quote([]string{p.everything(), "stdio"}) + row.env + "}\n    startup: 30"
			reply := text(t, call(t, connect(t, server, host), "get-env", ""))
			var got map[string]string
			if err := json.Unmarshal([]byte(reply), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("this process has %d variables, its child (-want +got):\n%s", len(os.Environ()), diff)
			}
			t.Logf("the child sees %s", reply)
		})
	}
}

// Over HTTP the environment is the server's own.
func TestEnvironmentOverHTTP(t *testing.T) {
	p := need(t)
	if got := text(t, call(t, connect(t, overHTTP(serveEverything(t, p)), nil), "get-env", "")); got != "{\n  \"PORT\": \"0\"\n}" {
		t.Error(got)
	}
}
