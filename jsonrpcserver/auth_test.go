package jsonrpcserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
)

// whoami is an operation that says on whose behalf it runs, with what authority.
func whoami() registry.Operation {
	return registry.Operation{
		Name: "whoami", Effects: effects.NewSet(effects.NetworkRead, effects.Mutation, effects.Inference),
		Handler: func(_ context.Context, c *registry.Call) (json.RawMessage, error) {
			inv := c.Invocation()
			return json.Marshal(fmt.Sprintf("%s via %s: %s, offline %v, at most %d", inv.Principal(), inv.Origin(), inv.Authorized(), inv.Offline(), c.OutputLimit().Bytes))
		},
	}
}

// plainWhoami is the same without effects, for callers without authority.
func plainWhoami() registry.Operation {
	op := whoami()
	op.Name, op.Effects = "plain", 0
	return op
}

func token(text string) func() (string, bool) { return func() (string, bool) { return text, true } }

func callers() []Caller {
	all := effects.NewSet(effects.Mutation, effects.Inference)
	return []Caller{
		{Name: "admin", Token: token("admin-token"), Authority: effects.Authority{Authorized: all, MaxOutput: 5000}},
		{Name: "reader", Token: token("reader-token"), Authority: effects.Authority{Operations: []effects.Pattern{"plain", "get_*"}, Offline: true}},
	}
}

func withCallers(t testing.TB, more ...Caller) Backend {
	return Backend{Registry: newRegistry(t, whoami(), plainWhoami()), Callers: append(callers(), more...)}
}

const (
	authenticateAdmin = `{"jsonrpc":"2.0","method":"rpc.authenticate","params":{"token":"admin-token"},"id":"a"}`
	isAdmin           = `{"jsonrpc":"2.0","result":{"caller":"admin"},"id":"a"}`
	callWhoami        = `{"jsonrpc":"2.0","method":"whoami","id":1}`
	callPlain         = `{"jsonrpc":"2.0","method":"plain","id":1}`
)

func refused(code int, id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","error":{"code":%d,"message":"*"},"id":%s}`, code, id)
}

func result(text, id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","result":%s,"id":%s}`, jsonText(text), id)
}

func jsonText(text string) string {
	out, _ := json.Marshal(text)
	return string(out)
}

func TestAuthenticateOnTCP(t *testing.T) {
	forEachFraming(t, func(t *testing.T, headers bool) {
		s := newServer(t, withCallers(t), nil)
		l := listen(t, s, Endpoint{Scheme: "tcp", Address: "127.0.0.1:0"})
		c := dial(t, l, headers)
		// Until then, everything is answered with one and the same refusal.
		for _, method := range []string{"plain", "nothing", "rpc.discover", "$/cancelRequest", "rpc.other"} {
			c.call(`{"jsonrpc":"2.0","method":"`+method+`","id":1}`, refused(-32002, "1"))
		}
		c.send(`{"jsonrpc":"2.0","method":"plain"}`)
		c.call(`[`+callPlain+`,{"jsonrpc":"2.0","method":"plain"},1]`, `[`+refused(-32002, "1")+`,`+refused(-32600, "null")+`]`)
		// As a notification, or inside a batch, it has no effect.
		c.send(`{"jsonrpc":"2.0","method":"rpc.authenticate","params":{"token":"admin-token"}}`)
		c.call(`[`+authenticateAdmin+`]`, `[`+refused(-32600, `"a"`)+`]`)
		c.call(callPlain, refused(-32002, "1"))
		for _, params := range []string{`{}`, `[]`, `["admin-token"]`, `{"token":1}`, `{"token":"admin-token","x":1}`, `{"token":"x","token":"admin-token"}`} {
			c.call(`{"jsonrpc":"2.0","method":"rpc.authenticate","params":`+params+`,"id":2}`, refused(-32602, "2"))
		}
		c.call(authenticateAdmin, isAdmin)
		c.call(callWhoami, result("admin via tcp: mutation, inference, offline false, at most 5000", "1"))
		// Once only.
		c.call(authenticateAdmin, refused(-32600, `"a"`))
		c.call(strings.ReplaceAll(authenticateAdmin, "admin", "reader"), refused(-32600, `"a"`))
		c.call(callWhoami, result("admin via tcp: mutation, inference, offline false, at most 5000", "1"))

		r := dial(t, l, headers)
		r.call(strings.ReplaceAll(authenticateAdmin, "admin", "reader"), `{"jsonrpc":"2.0","result":{"caller":"reader"},"id":"a"}`)
		r.call(callWhoami, refused(-32001, "1"))
		r.call(callPlain, result("reader via tcp: none, offline true, at most 256000", "1"))
		r.call(`{"jsonrpc":"2.0","method":"echo","id":1}`, refused(-32001, "1"))
	})
}

func TestGuessesAreLimited(t *testing.T) {
	c := dial(t, listen(t, newServer(t, withCallers(t), nil), Endpoint{Scheme: "tcp", Address: "127.0.0.1:0"}), false)
	for range maxAttempts {
		c.call(`{"jsonrpc":"2.0","method":"rpc.authenticate","params":{"token":"guess"},"id":1}`, refused(-32002, "1"))
	}
	c.expectClosed()
}

func TestLocalAndAnonymous(t *testing.T) {
	inference := effects.Authority{Authorized: effects.NewSet(effects.Inference, effects.Mutation)}
	for _, test := range []struct {
		name          string
		more          []Caller
		endpoint      Endpoint
		whoami, plain string
	}{
		{"local undeclared", nil, Endpoint{Scheme: "unix"}, refused(-32001, "1"), result("local via unix: none, offline false, at most 256000", "1")},
		{"local declared", []Caller{{Name: "local", Authority: inference}}, Endpoint{Scheme: "unix"},
			result("local via unix: mutation, inference, offline false, at most 256000", "1"), result("local via unix: none, offline false, at most 256000", "1")},
		{"anonymous undeclared", nil, Endpoint{Scheme: "tcp", Address: "127.0.0.1:0", Anonymous: true}, refused(-32001, "1"), result("anonymous via tcp: none, offline false, at most 256000", "1")},
		{"anonymous declared", []Caller{{Name: "anonymous", Authority: inference}}, Endpoint{Scheme: "tcp", Address: "127.0.0.1:0", Anonymous: true},
			result("anonymous via tcp: mutation, inference, offline false, at most 256000", "1"), result("anonymous via tcp: none, offline false, at most 256000", "1")},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.endpoint.Scheme == "unix" {
				test.endpoint.Address = socketPath(t)
			}
			l := listen(t, newServer(t, withCallers(t, test.more...), nil), test.endpoint)
			c := dial(t, l, false)
			c.call(callWhoami, test.whoami)
			c.call(callPlain, test.plain)
			c.call(authenticateAdmin, refused(-32600, `"a"`)) // it is too late for that
			c.call(callWhoami, test.whoami)
			first := dial(t, l, false)
			first.call(authenticateAdmin, isAdmin)
			first.call(callWhoami, result("admin via "+test.endpoint.Scheme+": mutation, inference, offline false, at most 5000", "1"))
		})
	}
}

// TestNothingWidensAuthority puts every word of authority into every field that a caller can send.
func TestNothingWidensAuthority(t *testing.T) {
	s := newServer(t, withCallers(t), nil)
	c := serve(t, s, nil, false)
	wide := `{"principal":"admin","caller":"admin","authorize":["mutation","inference"],"authorized":["mutation"],"effects":[],` +
		`"offline":false,"token":"admin-token","operations":["*"],"max_output":999999,"timeout":3600,"invocation":{"authorized":["mutation"]},"progressToken":1}`
	for _, request := range []string{
		`{"jsonrpc":"2.0","method":"whoami","id":1,"params":` + wide + `}`,
		`{"jsonrpc":"2.0","method":"whoami","id":1,"params":{"_meta":` + wide + `}}`,
		`{"jsonrpc":"2.0","method":"whoami","id":1,"meta":` + wide + `}`,
		`{"jsonrpc":"2.0","method":"whoami","id":1,"invocation":` + wide + `,"authority":` + wide + `,"caller":"admin","token":"admin-token","authorization":"Bearer admin-token"}`,
		`{"jsonrpc":"2.0","method":"whoami","id":1,"params":[` + wide + `]}`,
	} {
		c.call(request, refused(-32001, "1"))
	}
	l := listen(t, s, Endpoint{Scheme: "http", Address: "127.0.0.1:0"})
	for _, header := range []string{"X-Cupule-Caller", "X-Forwarded-User", "X-Authorized", "Cookie", "Proxy-Authorization", "X-Principal"} {
		_, _, body := post(t, l, callWhoami, "Authorization", "Bearer reader-token", header, "admin")
		if err := sameReply(refused(-32001, "1"), body); err != nil {
			t.Errorf("%s: %v", header, err)
		}
	}
}

func TestTokensRotate(t *testing.T) {
	var current atomic.Value
	current.Store("one")
	backend := withCallers(t, Caller{Name: "rotating", Token: func() (string, bool) { return current.Load().(string), true }})
	s := newServer(t, backend, nil)
	l := listen(t, s, Endpoint{Scheme: "tcp", Address: "127.0.0.1:0"})
	try := func(text string) *client {
		c := dial(t, l, false)
		c.send(`{"jsonrpc":"2.0","method":"rpc.authenticate","params":{"token":` + jsonText(text) + `},"id":1}`)
		return c
	}
	yes, no := `{"jsonrpc":"2.0","result":{"caller":"rotating"},"id":1}`, refused(-32002, "1")
	open := try("one")
	open.expect(yes)
	current.Store("two")
	try("one").expect(no)
	try("two").expect(yes)
	// An empty token and a shared one are nobody's.
	current.Store("")
	try("").expect(no)
	current.Store("admin-token")
	try("admin-token").expect(no)
	current.Store("three")
	// Open connections keep their caller until the next reload.
	open.call(callPlain, result("rotating via tcp: none, offline false, at most 256000", "1"))
	if _, err := s.Swap(backend); err != nil {
		t.Fatal(err)
	}
	open.call(callPlain, refused(-32002, "1"))
}

func TestSwap(t *testing.T) {
	g := newGate()
	backend := withCallers(t)
	s := newServer(t, Backend{Registry: newRegistry(t, g.operation(), plainWhoami()), Callers: callers()}, nil)
	l := listen(t, s, Endpoint{Scheme: "tcp", Address: "127.0.0.1:0"})
	c := dial(t, l, false)
	c.call(authenticateAdmin, isAdmin)
	c.send(`{"jsonrpc":"2.0","method":"gate","id":"old"}`)
	g.waitStarted(t, 1)
	backend.Callers[0].Authority.MaxOutput = 77
	wait, err := s.Swap(backend)
	if err != nil {
		t.Fatal(err)
	}
	// New calls see the new operations and the new authority; the old call runs on.
	c.call(callWhoami, result("admin via tcp: mutation, inference, offline false, at most 77", "1"))
	c.call(`{"jsonrpc":"2.0","method":"gate","id":2}`, refused(-32601, "2"))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if wait(ctx) == nil {
		t.Error("the old backend is unused, with a call running on it")
	}
	close(g.open)
	c.expect(`{"jsonrpc":"2.0","result":"opened","id":"old"}`)
	if err := wait(t.Context()); err != nil {
		t.Error(err)
	}
	// A caller that is gone is nobody.
	backend.Callers = backend.Callers[1:]
	if _, err := s.Swap(backend); err != nil {
		t.Fatal(err)
	}
	c.call(callPlain, refused(-32002, "1"))
	if _, err := s.Swap(Backend{}); err == nil {
		t.Error("a backend without registry was taken")
	}
}

func TestBackendCheck(t *testing.T) {
	none := func() (string, bool) { return "", false }
	for name, callers := range map[string][]Caller{
		"missing": {{Name: "a", Token: none}},
		"empty":   {{Name: "a", Token: token("")}},
		"shared":  {{Name: "a", Token: token("x")}, {Name: "b", Token: token("x")}},
		"twice":   {{Name: "a"}, {Name: "a"}},
		"unnamed": {{}},
	} {
		_, err := New(Backend{Registry: newRegistry(t), Callers: callers}, nil)
		if err == nil || strings.Contains(err.Error(), "\"x\"") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(Backend{}, nil); err == nil {
		t.Error("no registry")
	}
}

func TestListenRefuses(t *testing.T) {
	s := newServer(t, Backend{}, nil)
	for name, e := range map[string]Endpoint{
		"no caller has a token": {Scheme: "tcp", Address: "127.0.0.1:0"},
		"HTTP without tokens":   {Scheme: "http", Address: "127.0.0.1:0"},
		"off loopback":          {Scheme: "http", Address: "0.0.0.0:0", Anonymous: true},
		"TCP off loopback":      {Scheme: "tcp", Address: "0.0.0.0:0", Anonymous: true},
		"no certificate":        {Scheme: "https", Address: "127.0.0.1:0", Anonymous: true},
		"unknown scheme":        {Scheme: "udp", Address: "127.0.0.1:0", Anonymous: true},
		"bad address":           {Scheme: "tcp", Address: "nowhere", Anonymous: true},
	} {
		if l, err := s.Listen(t.Context(), e); err == nil {
			l.Close()
			t.Errorf("%s: listening on %v", name, l.Addr())
		}
	}
	l, err := s.Listen(t.Context(), Endpoint{Scheme: "http", Address: "0.0.0.0:0", Anonymous: true, BehindProxy: true})
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

// A connection whose caller a reload took away may authenticate anew.
func TestAuthenticateAfterReload(t *testing.T) {
	for name, after := range map[string][]Caller{
		"renamed": {{Name: "writer", Token: token("admin-token")}},
		"rotated": {{Name: "admin", Token: token("other-token")}, {Name: "writer", Token: token("admin-token")}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, withCallers(t), nil)
			c := dial(t, listen(t, s, Endpoint{Scheme: "tcp", Address: "127.0.0.1:0"}), false)
			c.call(authenticateAdmin, isAdmin)
			c.call(callPlain, result("admin via tcp: none, offline false, at most 5000", "1"))
			if _, err := s.Swap(Backend{Registry: newRegistry(t, whoami(), plainWhoami()), Callers: after}); err != nil {
				t.Fatal(err)
			}
			c.call(callPlain, refused(-32002, "1"))
			c.call(authenticateAdmin, `{"jsonrpc":"2.0","result":{"caller":"writer"},"id":"a"}`)
			c.call(callPlain, result("writer via tcp: none, offline false, at most 256000", "1"))
			c.call(authenticateAdmin, refused(-32600, `"a"`))
		})
	}
}

// A token that two callers share after a reload is nobody's, on open connections too.
func TestSharedTokenAfterReload(t *testing.T) {
	s := newServer(t, withCallers(t), nil)
	c := dial(t, listen(t, s, Endpoint{Scheme: "tcp", Address: "127.0.0.1:0"}), false)
	c.call(authenticateAdmin, isAdmin)
	if _, err := s.Swap(withCallers(t, Caller{Name: "twin", Token: token("admin-token")})); err != nil {
		t.Fatal(err)
	}
	c.call(callPlain, refused(-32002, "1"))
	c.call(authenticateAdmin, refused(-32002, `"a"`))
}

// A token that is rotated, shared or given back while a connection is open counts with the
// first request a second later.
func TestOpenConnectionsLearnOfTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine, other := "admin-token", "other-token"
		s := newServer(t, Backend{Registry: newRegistry(t, whoami(), plainWhoami()), Callers: []Caller{
			{Name: "admin", Token: func() (string, bool) { return mine, mine != "" }},
			{Name: "other", Token: func() (string, bool) { return other, true }},
		}}, nil)
		c := serve(t, s, &ConnOptions{Origin: "tcp"}, false)
		c.call(authenticateAdmin, isAdmin)
		asAdmin := result("admin via tcp: none, offline false, at most 256000", "1")
		for _, step := range []struct{ mine, other, want string }{
			{"admin-token", "other-token", asAdmin},
			{"rotated", "other-token", refused(-32002, "1")},
			{"admin-token", "other-token", asAdmin},
			{"admin-token", "admin-token", refused(-32002, "1")},
			{"", "admin-token", refused(-32002, "1")},
			{"admin-token", "", asAdmin},
		} {
			time.Sleep(tokenAge + time.Millisecond)
			mine, other = step.mine, step.other
			c.call(callPlain, step.want)
		}
		mine = "rotated"
		time.Sleep(tokenAge + time.Millisecond)
		c.call(strings.Replace(authenticateAdmin, "admin-token", "rotated", 1), isAdmin)
		c.call(callPlain, asAdmin)
	})
}
