package cupule

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/mcpclient"
	"github.com/cupule/cupule/mcpclient/mcptest"
	"github.com/cupule/cupule/registry"
	"github.com/sourcegraph/jsonrpc2"
)

func TestMain(m *testing.M) {
	mcptest.Main()
	os.Exit(m.Run())
}

// hang guards waits that a fault would make endless.
const hang = 10 * time.Second

func ask(t *testing.T, app *App, operation, params string) (string, *registry.Error) {
	t.Helper()
	req := registry.Request{Operation: operation, Params: json.RawMessage(params)}
	result, err := app.Registry().Invoke(t.Context(), req)
	failure, _ := errors.AsType[*registry.Error](err)
	return string(result), failure
}

// write writes a configuration for a well-behaved child, with more lines below.
func write(t *testing.T, file, more string) {
	t.Helper()
	path, args := mcptest.Good().Command()
	quoted, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	text := "mcp:\n  tools:\n    stdio: {command: " + path + ", args: " + string(quoted) + "}\n    allowed:\n      echo: {effects: []}\n" + more
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, more string, opts *Options) (*App, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "app.yaml")
	write(t, file, more)
	app, err := Open(t.Context(), file, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := app.Close(); err != nil {
			t.Error(err)
		}
	})
	return app, file
}

const echoOperation = "operations:\n  tool.echo: {tool: tools/echo}\n"

func TestOperationsOfFileAndGo(t *testing.T) {
	app, _ := open(t, echoOperation+"  bound: {effects: []}\n", &Options{
		Handlers: map[string]registry.Handler{"bound": func(context.Context, *registry.Call) (json.RawMessage, error) { return json.RawMessage("1"), nil }},
		Operations: func(client *mcpclient.Client) ([]registry.Operation, error) {
			return []registry.Operation{registry.Typed(registry.Operation{Name: "native"}, func(ctx context.Context, call *registry.Call, p struct {
				Text string `json:"text"`
			}) (int, error) {
				arguments, err := json.Marshal(p)
				if err != nil {
					return 0, err
				}
				result, err := client.CallTool(ctx, "tools", "echo", arguments, call.Invocation())
				if err != nil {
					return 0, err
				}
				return len(result.Raw), nil
			})}, nil
		},
	})
	for operation, params := range map[string]string{"tool.echo": `{"text":"hello"}`, "bound": `{}`, "native": `{"text":"hello"}`} {
		if result, err := ask(t, app, operation, params); err != nil {
			t.Errorf("%s: %v", operation, err)
		} else if operation == "tool.echo" && !strings.Contains(result, "hello") {
			t.Errorf("%s: %s", operation, result)
		}
	}
}

func TestProblemsStartNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "app.yaml")
	write(t, file, "operations:\n  a: {tool: tools/ecko}\n  b: {effects: [network]}\n")
	_, err := Open(t.Context(), file, nil)
	if broken, ok := errors.AsType[*config.Error](err); !ok || len(broken.Problems) != 2 {
		t.Errorf("got %v", err)
	}
	write(t, file, "operations:\n  a: {effects: []}\n  b: {effects: []}\n")
	_, err = Open(t.Context(), file, &Options{Handlers: map[string]registry.Handler{"c": nil}})
	if unbuilt, ok := errors.AsType[*registry.BuildError](err); !ok || len(unbuilt.Problems) != 3 {
		t.Errorf("got %v", err)
	}
	if _, err := OpenConfig(t.Context(), nil, nil); err == nil {
		t.Error("opened without a configuration")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := OpenConfig(ended, &config.Config{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	failing := errors.New("x")
	_, err = OpenConfig(t.Context(), &config.Config{}, &Options{Operations: func(*mcpclient.Client) ([]registry.Operation, error) { return nil, failing }})
	if !errors.Is(err, failing) {
		t.Errorf("got %v", err)
	}
}

// serving serves an App and returns its addresses.
func serving(t *testing.T, app *App) (stop func() error, addresses []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	listening := make(chan []string, 1)
	app.opts.Listening = func(list []string) { listening <- list }
	go func() { ended <- app.Serve(ctx) }()
	select {
	case addresses = <-listening:
	case err := <-ended:
		t.Fatal(err)
	case <-time.After(hang):
		t.Fatal("it doesn't listen")
	}
	return func() error { cancel(); return <-ended }, addresses
}

func dial(t *testing.T, socket string) *jsonrpc2.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	client := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(conn), jsonrpc2.HandlerWithError(func(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) (any, error) { return nil, nil }))
	t.Cleanup(func() { client.Close() })
	return client
}

func remoteCall(t *testing.T, client *jsonrpc2.Conn, method string, params any) (json.RawMessage, int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	var result json.RawMessage
	err := client.Call(ctx, method, params, &result, jsonrpc2.PickID(jsonrpc2.ID{Num: 7}))
	if wire, ok := errors.AsType[*jsonrpc2.Error](err); ok {
		return nil, wire.Code
	}
	if err != nil {
		t.Fatal(err)
	}
	return result, 0
}

func TestServe(t *testing.T) {
	before := runtime.NumGoroutine()
	app, file := open(t, echoOperation+"callers:\n  c: {token_env: T}\nserve: {listen: [unix:./s, \"tcp://127.0.0.1:0\", \"http://127.0.0.1:0/rpc\"]}\n",
		&Options{LookupEnv: func(string) (string, bool) { return "token", true }})
	stop, addresses := serving(t, app)
	socket := filepath.Join(filepath.Dir(file), "s")
	if len(addresses) != 3 || addresses[0] != "unix:"+socket || strings.HasSuffix(addresses[1], ":0") || !strings.HasSuffix(addresses[2], "/rpc") {
		t.Errorf("%v", addresses)
	}
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	client := dial(t, socket)
	if result, code := remoteCall(t, client, "tool.echo", map[string]string{"text": "hi"}); code != 0 || !strings.Contains(string(result), "hi") {
		t.Errorf("%s, %d", result, code)
	}
	if err := app.Serve(t.Context()); err == nil {
		t.Error("served twice at once")
	}
	client.Close()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(socket); !errors.Is(err, os.ErrNotExist) {
		t.Error("the socket file is left")
	}
	if err := app.Close(); err != nil {
		t.Error(err)
	}
	if err := errors.Join(app.Close(), nil); err != nil {
		t.Error(err)
	}
	if !errors.Is(app.Serve(t.Context()), ErrClosed) || !errors.Is(app.Reload(t.Context()), ErrClosed) {
		t.Error("a closed App serves or reloads")
	}
	settle(t, before)
}

// settle waits for goroutines that are on their way out.
func settle(t *testing.T, before int) {
	t.Helper()
	for end := time.Now().Add(hang); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(end) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		}
	}
}

func TestMissingTokenKeepsFromServing(t *testing.T) {
	app, _ := open(t, "callers:\n  c: {token_env: T}\nserve: {listen: [unix:./s]}\n", &Options{LookupEnv: func(string) (string, bool) { return "", false }})
	if broken, ok := errors.AsType[*config.Error](app.Serve(t.Context())); !ok || len(broken.Problems) != 1 || broken.Problems[0].Path != "callers.c.token_env" {
		t.Errorf("got %v", broken)
	}
}

// TestReload swaps a configuration while a call runs under the old one.
func TestReload(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	options := &Options{Operations: func(client *mcpclient.Client) ([]registry.Operation, error) {
		return []registry.Operation{{Name: "wait", Handler: func(ctx context.Context, call *registry.Call) (json.RawMessage, error) {
			entered <- struct{}{}
			<-release
			result, err := client.CallTool(ctx, "tools", "echo", json.RawMessage(`{"text":"old"}`), call.Invocation())
			if err != nil {
				return nil, err
			}
			return result.Raw, nil
		}}}, nil
	}}
	app, file := open(t, echoOperation+"serve: {listen: [unix:./s]}\n", options)
	stop, _ := serving(t, app)
	socket := filepath.Join(filepath.Dir(file), "s")
	old := app.Registry()

	type answer struct {
		result json.RawMessage
		code   int64
	}
	slow := make(chan answer, 1)
	client := dial(t, socket)
	go func() {
		result, code := remoteCall(t, client, "wait", nil)
		slow <- answer{result, code}
	}()
	<-entered

	write(t, file, "operations:\n  tool.renamed: {tool: tools/echo}\n")
	if err := app.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := dial(t, socket)
	if _, code := remoteCall(t, other, "tool.echo", map[string]string{"text": "x"}); code != registry.KindMethodNotFound.Code() {
		t.Errorf("an operation that is gone answers %d", code)
	}
	if _, code := remoteCall(t, other, "tool.renamed", map[string]string{"text": "x"}); code != 0 {
		t.Errorf("a new operation answers %d", code)
	}
	close(release)
	if a := <-slow; a.code != 0 || !strings.Contains(string(a.result), "old") {
		t.Errorf("the running call got %s, %d", a.result, a.code)
	}

	write(t, file, "operations:\n  broken: {}\n")
	if _, ok := errors.AsType[*config.Error](app.Reload(t.Context())); !ok {
		t.Error("a broken file was loaded")
	}
	if _, code := remoteCall(t, other, "tool.renamed", map[string]string{"text": "x"}); code != 0 {
		t.Errorf("after a broken file the operation answers %d", code)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	app.retiring.Wait()
	_, err := old.Invoke(t.Context(), registry.Request{Operation: "tool.echo", Params: json.RawMessage(`{"text":"x"}`)})
	if failure, ok := errors.AsType[*registry.Error](err); !ok || failure.Kind != registry.KindShuttingDown {
		t.Errorf("the old registry answers %v", err)
	}
}

func TestReloadNeedsAFile(t *testing.T) {
	cfg, err := config.Parse("x", []byte("mcp: {}\n"))
	if err != nil {
		t.Fatal(err)
	}
	app, err := OpenConfig(t.Context(), cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Reload(t.Context()); err == nil {
		t.Error("loaded anew from nothing")
	}
	if err := app.Close(); err != nil {
		t.Error(err)
	}
}

// A pipe in place of the file could be waited for without end, by Close too.
func TestReloadOfWhatIsNoFile(t *testing.T) {
	app, file := open(t, echoOperation, nil)
	before := app.Config()
	if err := errors.Join(os.Remove(file), os.Mkdir(file, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := app.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "no regular file") || app.Config() != before {
		t.Error(err)
	}
}

// A file system that hangs holds up a Reload, and no Close.
func TestCloseBesidesAReload(t *testing.T) {
	app, _ := open(t, echoOperation, nil)
	app.reloading <- struct{}{} // one is reading
	ctx, cancel := context.WithCancel(t.Context())
	other := make(chan error, 1)
	go func() { other <- app.Reload(ctx) }()
	if err := app.Close(); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-other; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	next, err := app.assemble(app.Config())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(app.swap(next), next.client.Close()); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// TestCloseDoesNotWaitForEver holds Close to its grace when a handler does not return.
func TestCloseDoesNotWaitForEver(t *testing.T) {
	stuck := make(chan struct{})
	entered := make(chan struct{})
	app, err := OpenConfig(t.Context(), &config.Config{}, &Options{Grace: time.Millisecond, Operations: func(*mcpclient.Client) ([]registry.Operation, error) {
		return []registry.Operation{{Name: "stuck", Handler: func(context.Context, *registry.Call) (json.RawMessage, error) {
			close(entered)
			<-stuck
			return nil, nil
		}}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		app.Registry().Invoke(context.Background(), registry.Request{Operation: "stuck", Invocation: effects.Invocation{}})
	}()
	<-entered
	if err := app.Close(); err == nil {
		t.Error("Close says that nothing is left")
	}
	close(stuck)
	<-done
}
