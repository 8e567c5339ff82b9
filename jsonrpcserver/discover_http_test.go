package jsonrpcserver

import (
	"encoding/json"
	"testing"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
	"github.com/google/go-cmp/cmp"
)

// seen is what a document says of one method.
type seen struct {
	Name    string   `json:"name"`
	Effects []string `json:"x-effects"`
	Limits  struct {
		Timeout   registry.Limit `json:"timeout"`
		MaxOutput registry.Limit `json:"max_output"`
	} `json:"x-limits"`
}

func readSeen(t *testing.T, body string) map[string]seen {
	t.Helper()
	var reply struct {
		Result struct {
			Methods []seen `json:"methods"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(body), &reply); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	all := map[string]seen{}
	for _, m := range reply.Result.Methods {
		all[m.Name] = m
	}
	return all
}

// discovering is each caller and what it may use of the operations described.
var discovering = []struct {
	caller  string
	visible []string
	timeout registry.Limit // of "typed" or, where that is hidden, of "any"
	output  registry.Limit
}{
	{"", []string{"any", "list", "named", "open", "recursive", "tuple", "typed"}, registry.Limit{}, registry.Limit{}},
	{"writer", []string{"any", "list", "named", "open", "recursive", "tool", "tuple", "typed", "writes"}, registry.Limit{}, registry.Limit{}},
	{"offline", []string{"any", "list", "named", "open", "recursive", "thinks", "tuple", "writes"}, registry.Limit{}, registry.Limit{}},
	{"few", []string{"tuple", "typed"}, registry.Limit{Name: "timeout", Whose: "caller few", Seconds: 1.5}, registry.Limit{Name: "max_output", Whose: "caller few", Bytes: 5000}},
	{"none", nil, registry.Limit{}, registry.Limit{}},
}

// TestDiscoverOverHTTP: a token shows what its caller may use with its effects and the
// smaller of the limits, and exactly that may be called.
func TestDiscoverOverHTTP(t *testing.T) {
	s := discoverServer(t)
	l := listen(t, s, Endpoint{Scheme: "http", Address: "127.0.0.1:0", Anonymous: true})
	reg := s.current.Load().Registry
	for _, row := range discovering {
		var header []string
		if row.caller != "" {
			header = []string{"Authorization", "Bearer " + row.caller}
		}
		_, _, body := post(t, l, `{"jsonrpc":"2.0","method":"rpc.discover","id":1}`, header...)
		methods := readSeen(t, body)
		visible := map[string]bool{}
		for _, name := range row.visible {
			visible[name] = true
		}
		for _, op := range described() {
			m, shown := methods[op.Name]
			if shown != visible[op.Name] {
				t.Errorf("%q: %s is shown: %v", row.caller, op.Name, shown)
			}
			_, _, answer := post(t, l, `{"jsonrpc":"2.0","method":"`+op.Name+`","id":1}`, header...)
			if may := parseReply(answer)[1] != "-32001"; may != shown {
				t.Errorf("%q: %s is shown: %v, and answers %s", row.caller, op.Name, shown, answer)
			}
			if !shown {
				continue
			}
			timeout, output, _ := reg.Limits(op.Name)
			if row.timeout.Name != "" {
				timeout, output = row.timeout, row.output
			}
			want := op.Effects.Names()
			if diff := cmp.Diff([]any{want, timeout, output}, []any{m.Effects, m.Limits.Timeout, m.Limits.MaxOutput}); diff != "" {
				t.Errorf("%q: %s: %s", row.caller, op.Name, diff)
			}
		}
	}
	for _, header := range [][]string{{"Authorization", "Bearer nobody"}, {"Authorization", "Basic writer"}} {
		if status, _, body := post(t, l, `{"jsonrpc":"2.0","method":"rpc.discover","id":1}`, header...); status != 401 {
			t.Errorf("%v: %d %s", header, status, body)
		}
	}
}

// Peers that prove no token see what the caller of their name may use.
func TestDiscoverWithoutToken(t *testing.T) {
	reg, err := registry.New(described(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, Backend{Registry: reg, Callers: []Caller{
		{Name: "local", Authority: effects.Authority{Operations: []effects.Pattern{"any", "writes"}, Authorized: effects.NewSet(effects.Mutation)}},
		{Name: "anonymous", Authority: effects.Authority{Operations: []effects.Pattern{"any", "typed"}, Offline: true}},
	}}, nil)
	if diff := cmp.Diff([]string{"any", "writes"}, methodNames(t, discoverOn(t, s, nil, ""))); diff != "" {
		t.Error(diff)
	}
	l := listen(t, s, Endpoint{Scheme: "http", Address: "127.0.0.1:0", Anonymous: true})
	_, _, body := post(t, l, `{"jsonrpc":"2.0","method":"rpc.discover","id":1}`)
	if methods := readSeen(t, body); len(methods) != 1 || methods["any"].Name == "" {
		t.Errorf("anonymous and offline: %s", body)
	}
	_, _, body = post(t, l, `{"jsonrpc":"2.0","method":"typed","id":1}`)
	if err := sameReply(refused(-32001, "1"), body); err != nil {
		t.Error(err)
	}
}
