package cupule

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cupule/cupule/jsonrpcserver"
	"github.com/cupule/cupule/mcpclient"
	"github.com/cupule/cupule/registry"
)

const hello = `{"jsonrpc":"2.0","method":"tool.echo","params":{"text":"hi"},"id":1}` + "\n"

// TestServeOnStdio serves on given streams where no listener is declared, or stdio is one of
// several. The end of the input ends all of them, after what was asked is answered.
func TestServeOnStdio(t *testing.T) {
	for name, listen := range map[string]string{"nothing declared": "", "declared": "serve: {listen: [stdio]}\n", "with others": "serve: {listen: [unix:./s, stdio]}\n"} {
		t.Run(name, func(t *testing.T) {
			in, feed := io.Pipe()
			var out bytes.Buffer
			var addresses []string
			app, file := open(t, echoOperation+listen, &Options{In: in, Out: &out, Listening: func(list []string) { addresses = list }})
			done := make(chan error, 1)
			go func() { done <- app.Serve(t.Context()) }()
			if _, err := io.WriteString(feed, hello); err != nil {
				t.Fatal(err)
			}
			feed.Close()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if !strings.HasPrefix(out.String(), `{"jsonrpc":"2.0","id":1,"result":`) || !strings.Contains(out.String(), "hi") {
				t.Errorf("answered %s", out.String())
			}
			if addresses[len(addresses)-1] != "stdio" {
				t.Errorf("told of %v", addresses)
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), "s")); !errors.Is(err, os.ErrNotExist) {
				t.Error("the socket file is left")
			}
		})
	}
}

// TestListensAtAllOrNone has the last of three addresses be another's. What was opened is closed
// again, and the application can be served once the address is free.
func TestListensAtAllOrNone(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	app, file := open(t, echoOperation+"callers:\n  c: {token_env: T}\nserve: {listen: [unix:./s, \"tcp://127.0.0.1:0\", \"tcp://"+taken.Addr().String()+"\"]}\n",
		&Options{LookupEnv: func(string) (string, bool) { return "token", true }})
	socket := filepath.Join(filepath.Dir(file), "s")
	for range 2 {
		if err := app.Serve(t.Context()); err == nil || !strings.Contains(err.Error(), taken.Addr().String()) {
			t.Errorf("served in spite of it: %v", err)
		}
		if _, err := os.Stat(socket); !errors.Is(err, os.ErrNotExist) {
			t.Error("the socket file is left")
		}
	}
	taken.Close()
	for range 2 {
		stop, addresses := serving(t, app)
		if len(addresses) != 3 {
			t.Errorf("told of %v", addresses)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}

// TestCloseEndsServing closes an application while it is served.
func TestCloseEndsServing(t *testing.T) {
	app, file := open(t, echoOperation+"serve: {listen: [unix:./s]}\n", nil)
	stop, _ := serving(t, app)
	client := dial(t, filepath.Join(filepath.Dir(file), "s"))
	if _, code := remoteCall(t, client, "tool.echo", map[string]string{"text": "x"}); code != 0 {
		t.Errorf("answers %d", code)
	}
	if err := app.Close(); err != nil {
		t.Error(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, failure := ask(t, app, "tool.echo", `{"text":"x"}`); failure == nil || failure.Kind != registry.KindShuttingDown {
		t.Errorf("after the end: %v", failure)
	}
}

// TestOptionsReachTheServer looks for what an embedder sets in what a caller sees.
func TestOptionsReachTheServer(t *testing.T) {
	var out bytes.Buffer
	in := `{"jsonrpc":"2.0","method":"rpc.discover","id":1}` + "\n" + `{"jsonrpc":"2.0","method":"tool.echo","params":{"text":"` + strings.Repeat("x", 200) + `"},"id":2}` + "\n"
	app, _ := open(t, echoOperation, &Options{In: strings.NewReader(in), Out: &out, Name: "acorns", Version: "7.1", Server: &jsonrpcserver.Options{MaxMessage: 100}})
	if err := app.Serve(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"title":"acorns"`, `"version":"7.1"`, `"tool.echo"`, `"code":-32600`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s lacks %s", out.String(), want)
		}
	}
	if strings.Contains(out.String(), `"id":2`) {
		t.Error("a message over the limit was read")
	}
}

// TestReloadChangesAllOrNothing loads files that are right, and whose operations are wrong.
func TestReloadChangesAllOrNothing(t *testing.T) {
	var log bytes.Buffer
	var refuse error
	app, file := open(t, echoOperation+"serve: {listen: [unix:./s]}\n", &Options{
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Operations: func(*mcpclient.Client) ([]registry.Operation, error) {
			return []registry.Operation{{Name: "native", Handler: func(context.Context, *registry.Call) (json.RawMessage, error) { return json.RawMessage("1"), nil }}}, refuse
		},
	})
	stop, _ := serving(t, app)
	defer stop()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	broken := errors.New("not today")
	for _, row := range []struct {
		name, more string
		ctx        context.Context
		refuse     error
		want       func(error) bool
	}{
		{"cancelled", echoOperation, cancelled, nil, func(err error) bool { return errors.Is(err, context.Canceled) }},
		{"no handler", "operations:\n  other: {effects: []}\n", t.Context(), nil, func(err error) bool { _, ok := errors.AsType[*registry.BuildError](err); return ok }},
		{"a name twice", "operations:\n  native: {tool: tools/echo}\n", t.Context(), nil, func(err error) bool { _, ok := errors.AsType[*registry.BuildError](err); return ok }},
		{"no operations", "", t.Context(), broken, func(err error) bool { return errors.Is(err, broken) }},
	} {
		before, client, cfg := app.Registry(), app.Client(), app.Config()
		refuse = row.refuse
		write(t, file, row.more+"serve: {listen: [unix:./s]}\n")
		if err := app.Reload(row.ctx); !row.want(err) {
			t.Errorf("%s: %v", row.name, err)
		}
		if app.Registry() != before || app.Client() != client || app.Config() != cfg {
			t.Errorf("%s: something has changed", row.name)
		}
	}
	refuse = nil
	if _, failure := ask(t, app, "tool.echo", `{"text":"x"}`); failure != nil {
		t.Errorf("the old operation: %v", failure)
	}
	before := app.Client()
	write(t, file, "# a line above\n"+echoOperation+"serve: {listen: [unix:./s]}\n")
	if err := app.Reload(t.Context()); err != nil || app.Client() == before || strings.Contains(log.String(), "listeners") {
		t.Errorf("%v\n%s", err, log.String())
	}
	write(t, file, echoOperation+"serve: {listen: [unix:./other]}\n")
	if err := app.Reload(t.Context()); err != nil || !strings.Contains(log.String(), "they take effect at the next start") {
		t.Errorf("%v\n%s", err, log.String())
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(file), "other")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a listener was opened by Reload")
	}
}
