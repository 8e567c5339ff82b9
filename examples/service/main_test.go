package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"
)

// install puts the configuration and the MCP server that it names into a folder.
func install(t *testing.T) (file string) {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "bin", "research-tools"), "../research-tools")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile("../app.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, "app.yaml")
	text = bytes.Replace(text, []byte("127.0.0.1:8321"), []byte("127.0.0.1:0"), 1)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestService(t *testing.T) {
	for _, name := range []string{"DASHBOARD_TOKEN", "EDITOR_TOKEN", "AUDITOR_TOKEN"} {
		t.Setenv(name, "token of "+name)
	}
	file := install(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, file, slog.New(slog.DiscardHandler)) }()
	client := connect(t, filepath.Join(filepath.Dir(file), "app.sock"), ended)
	for _, test := range []struct {
		method, params, want string
		code                 int64
	}{
		{"text.count", `{"text":"one two three"}`, `3`, 0},
		{"text.count", `["one two"]`, `2`, 0},
		{"identifier.cite", `{"identifier":"doi:10.1000/182"}`, `{"citation":"International DOI Foundation: DOI Handbook (2019)"}`, 0},
		{"identifier.cite", `{"identifier":"none"}`, "", 404},
		{"identifier.cite", `{"id":"none"}`, "", -32602},
		{"note.add", `{"text":"x"}`, "", -32001},
	} {
		var result json.RawMessage
		err := client.Call(t.Context(), test.method, json.RawMessage(test.params), &result, jsonrpc2.PickID(jsonrpc2.ID{Num: 1}))
		wire, _ := errors.AsType[*jsonrpc2.Error](err)
		if wire == nil {
			wire = &jsonrpc2.Error{}
		}
		if string(result) != test.want || wire.Code != test.code {
			t.Errorf("%s %s: %s, %v", test.method, test.params, result, err)
		}
	}
	client.Close()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// connect waits for the socket to appear and connects to it.
func connect(t *testing.T, socket string, ended <-chan error) *jsonrpc2.Conn {
	t.Helper()
	for {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			return jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(conn), nil)
		}
		select {
		case err := <-ended:
			t.Fatal(err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
