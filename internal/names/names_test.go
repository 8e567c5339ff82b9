package names

import (
	"strings"
	"testing"
)

func TestOperation(t *testing.T) {
	for name, want := range map[string]string{
		"a": "", "identifier.resolve": "", "A-b_9.0.-": "", strings.Repeat("a", MaxOperation): "",
		"":                                  "not made of dotted words",
		".a":                                "not made of dotted words",
		"a.":                                "not made of dotted words",
		"a..b":                              "not made of dotted words",
		"9a":                                "not made of dotted words",
		"a b":                               "not made of dotted words",
		"a\n":                               "not made of dotted words",
		"é":                                 "not made of dotted words",
		"rpc.discover":                      "reserved",
		"$/cancelRequest":                   "reserved",
		strings.Repeat("a", MaxOperation+1): "129 bytes",
	} {
		err := CheckOperation(name)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
}

func TestAlias(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "0": true, "a-b_c": true, strings.Repeat("a", 64): true,
		"": false, "-a": false, "_a": false, "A": false, "a.b": false, "a\n": false, strings.Repeat("a", 65): false,
	} {
		if err := CheckAlias(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
