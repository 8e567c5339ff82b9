package jsonrpcserver

import (
	"crypto/sha256"
	"encoding/json"
	"time"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/internal/strictjson"
	"github.com/cupule/cupule/registry"
)

// tokenAge is how long a token that was looked up is believed to be a caller's still.
const tokenAge = time.Second

// identity is who speaks on a connection. It is used by the connection's reader alone.
type identity struct {
	name     string // of the caller; "" is nobody
	token    [sha256.Size]byte
	byToken  bool // it gave a token
	origin   string
	served   bool // a request has been judged in its name
	failures int  // wrong tokens so far

	known      *backend  // for which invocation was made
	checked    time.Time // when the token was looked up last
	invocation effects.Invocation
	valid      bool
}

// on returns the invocation for calls on this backend; ok is false where the speaker is nobody there.
func (who *identity) on(b *backend) (inv effects.Invocation, ok bool) {
	if who.known != b || who.byToken && time.Since(who.checked) > tokenAge {
		who.known = b
		who.invocation, who.valid = who.resolve(b)
	}
	return who.invocation, who.valid
}

func (who *identity) resolve(b *backend) (effects.Invocation, bool) {
	if who.name == "" {
		return effects.Invocation{}, false
	}
	if !who.byToken {
		return invocationOf(b.caller(who.name), who.name, who.origin), true
	}
	who.checked = time.Now()
	caller := b.holder(who.token)
	if caller == nil || caller.Name != who.name {
		return effects.Invocation{}, false
	}
	return invocationOf(caller, who.name, who.origin), true
}

// invocationOf returns what a caller may do; nil is one without authority.
func invocationOf(c *Caller, name, origin string) effects.Invocation {
	var a effects.Authority
	if c != nil {
		a = c.Authority
	}
	a.Principal, a.Origin = name, origin
	return effects.NewInvocation(a)
}

// authenticate judges rpc.authenticate. It must come before any request that is served,
// or when a token has become invalid; after a wrong one it may be tried again, a few times.
func (who *identity) authenticate(b *backend, params json.RawMessage) (result json.RawMessage, err *registry.Error) {
	if _, valid := who.on(b); valid && (who.byToken || who.served) {
		return nil, invalidRequest("rpc.authenticate must be the first request of a connection")
	}
	token, err := tokenOf(params)
	if err != nil {
		return nil, err
	}
	caller := b.authenticate(token)
	if caller == nil {
		who.failures++
		return nil, unauthenticated("the token is no caller's")
	}
	who.name, who.byToken, who.token = caller.Name, true, sha256.Sum256([]byte(token))
	who.checked = time.Now()
	who.known, who.invocation, who.valid = b, invocationOf(caller, caller.Name, who.origin), true
	return append(appendString([]byte(`{"caller":`), caller.Name), '}'), nil
}

// tokenOf returns the only member of {"token": "..."}.
func tokenOf(params json.RawMessage) (string, *registry.Error) {
	wrong := &registry.Error{
		Kind: registry.KindInvalidParams, Operation: methodAuthenticate, Message: `invalid parameters: write {"token": "..."}`,
		Problems: []registry.ParamProblem{{Path: "/token", Message: "a string, and nothing beside it"}},
	}
	var token []byte
	n := 0
	for m := range strictjson.Members(params) {
		n++
		text, ok := stringValue(m.Value)
		if string(m.Key) != "token" || !ok || n > 1 {
			return "", wrong
		}
		token = text
	}
	if n == 0 {
		return "", wrong
	}
	return string(token), nil
}
