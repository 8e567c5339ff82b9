package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/sourcegraph/jsonrpc2"
)

const (
	resolve  = `{"identifier":"doi:10.1145/359576.359585"}`
	annotate = `{"text":"read Hoare again"}`
)

// calls makes one call after another, each on a JSON-RPC connection of its own.
func calls(ctx context.Context, dir string) error {
	socket := filepath.Join(dir, "app.sock")
	for _, c := range []struct {
		what, token, method, params string
		denied                      bool
	}{
		{"an allowed call: the operation has network_read, and its caller is online", "", "identifier.resolve", resolve, false},
		{"the same call by a caller that is offline: denied, nothing was started", "AUDITOR_TOKEN", "identifier.resolve", resolve, true},
		{"a mutation by a caller without authority for it: denied", "", "note.add", annotate, true},
		{"the same mutation by a caller that is authorized", "EDITOR_TOKEN", "note.add", annotate, false},
	} {
		step(c.what)
		say("--> %s %s", c.method, c.params)
		result, err := call(ctx, socket, tokens[c.token], c.method, c.params)
		wire, answered := errors.AsType[*jsonrpc2.Error](err)
		switch {
		case err == nil && !c.denied:
			say("<-- %s", result)
		case answered && wire.Code == -32001 && c.denied:
			say("<-- error %d: %s", wire.Code, wire.Message)
		default:
			return fmt.Errorf("%s: unexpected answer %s, %w", c.method, result, err)
		}
	}
	notes, err := os.ReadFile(filepath.Join(dir, "notes.txt"))
	say("the notes now hold: %s", strings.TrimSpace(string(notes)))
	return err
}

func call(ctx context.Context, socket, token, method, params string) (json.RawMessage, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	client := jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(conn), nothing{})
	defer client.Close()
	// The client reads the id null as 0, so its own ids begin at 1.
	if token != "" {
		if err := client.Call(ctx, "rpc.authenticate", map[string]string{"token": token}, nil, jsonrpc2.PickID(jsonrpc2.ID{Num: 1})); err != nil {
			return nil, err
		}
	}
	var result json.RawMessage
	err = client.Call(ctx, method, json.RawMessage(params), &result, jsonrpc2.PickID(jsonrpc2.ID{Num: 2}))
	return result, err
}

// nothing is what the client does with requests of the server, which sends none.
type nothing struct{}

func (nothing) Handle(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) {}
