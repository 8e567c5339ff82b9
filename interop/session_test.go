package interop

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cupule/cupule/mcpclient"
	"github.com/cupule/cupule/registry"
)

func open(t *testing.T, c *mcpclient.Client) *mcpclient.Session {
	t.Helper()
	s, err := c.Connect(t.Context(), "everything", everybody)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSession(t *testing.T) {
	overBoth(t, func(t *testing.T, c *mcpclient.Client) {
		if c.IsConnected("everything") {
			t.Error("connected before Connect")
		}
		s := open(t, c)
		if again := open(t, c); again != s || !slices.Equal(c.Connected(), []string{"everything"}) {
			t.Errorf("connected: %q", c.Connected())
		}
		if s.ServerInfo().Name != "mcp-servers/everything" || s.Protocol() != "2025-11-25" || s.Capabilities().Prompts == nil ||
			!strings.Contains(s.Instructions(), "Everything Server") {
			t.Errorf("%+v %s %.100s", s.ServerInfo(), s.Protocol(), s.Instructions())
		}
		var all sync.WaitGroup
		for n := range 50 {
			all.Go(func() {
				r, err := s.CallTool(t.Context(), "echo", json.RawMessage(fmt.Sprintf(`{"message":"%d"}`, n)), everybody)
				if err != nil || !strings.Contains(string(r.Raw), fmt.Sprintf(`"Echo: %d"`, n)) {
					t.Errorf("call %d: %v %v", n, r, err)
				}
			})
		}
		all.Wait()
		c.Disconnect("everything")
		if c.IsConnected("everything") || len(c.Connected()) > 0 {
			t.Error("connected after Disconnect")
		}
	})
}

// Calls that run side by side get their own progress.
func TestProgressInSession(t *testing.T) {
	overBoth(t, func(t *testing.T, c *mcpclient.Client) {
		s := open(t, c)
		var all sync.WaitGroup
		for steps := range 4 {
			all.Go(func() {
				var got []registry.Progress
				call := longRunning(fmt.Sprintf(`{"duration":0.2,"steps":%d}`, steps+2), func(p registry.Progress) { got = append(got, p) })
				if _, err := s.Call(t.Context(), call); err != nil {
					t.Error(err)
				}
				for i, p := range got {
					if len(got) != steps+2 || p.Progress != float64(i+1) || p.Total != float64(steps+2) {
						t.Errorf("%d steps: %v", steps+2, got)
					}
				}
			})
		}
		all.Wait()
	})
}

// A tool adds a resource, the server says that the list has changed, and the resource is read.
func TestListChanged(t *testing.T) {
	overBoth(t, func(t *testing.T, c *mcpclient.Client) {
		s := open(t, c)
		notices := s.Subscribe()
		defer notices.Close()
		// Over HTTP a notice is lost that comes before the stream for it; so there may be several.
		for !changes(t, s, notices) {
		}
		r, err := s.ReadResource(t.Context(), "demo://resource/session/hello.gz", everybody)
		if err != nil {
			t.Fatal(err)
		}
		result, err := r.Typed()
		if err != nil {
			t.Fatal(err)
		}
		unzip, err := gzip.NewReader(bytes.NewReader(result.Contents[0].Blob))
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(unzip); err != nil || string(text) != "hello" {
			t.Errorf("%q, %v", text, err)
		}
	})
}

// changes adds the resource and reports whether a notice of that has come soon.
func changes(t *testing.T, s *mcpclient.Session, notices *mcpclient.Subscription) bool {
	t.Helper()
	args := `{"name":"hello.gz","data":"data:text/plain,hello","outputType":"resourceLink"}`
	if _, err := s.CallTool(t.Context(), "gzip-file-as-resource", json.RawMessage(args), everybody); err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	for n := range notices.All(soon) {
		if list, ok := n.ListChanged(); ok && list == "resources" {
			return true
		}
	}
	return t.Context().Err() != nil
}

func TestLogging(t *testing.T) {
	overBoth(t, func(t *testing.T, c *mcpclient.Client) {
		s := open(t, c)
		notices := s.Subscribe()
		defer notices.Close()
		if err := s.SetLogLevel(t.Context(), "debug", everybody); err != nil {
			t.Fatal(err)
		}
		if _, err := s.CallTool(t.Context(), "toggle-simulated-logging", nil, everybody); err != nil {
			t.Fatal(err)
		}
		n := await(t, notices, func(n mcpclient.Notification) bool { return n.Method == "notifications/message" })
		if log, err := n.Log(); err != nil || !strings.Contains(fmt.Sprint(log.Data), "message") || log.Level == "" {
			t.Errorf("%+v %v", log, err)
		}
	})
}

func await(t *testing.T, s *mcpclient.Subscription, match func(mcpclient.Notification) bool) mcpclient.Notification {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), guard)
	defer cancel()
	for {
		n, err := s.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if match(n) {
			return n
		}
	}
}

// A call that is cancelled in a session leaves the others and the session alone.
func TestCancellationInSession(t *testing.T) {
	overBoth(t, func(t *testing.T, c *mcpclient.Client) {
		s := open(t, c)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := s.Call(ctx, longRunning(`{"duration":15,"steps":300}`, func(registry.Progress) { cancel() }))
		wantError(t, err, registry.KindCancelled, registry.Sent)
		if _, err := s.CallTool(t.Context(), "echo", json.RawMessage(`{"message":"still here"}`), everybody); err != nil {
			t.Error(err)
		}
	})
}

// A child that was killed fails what was in flight, once, and the next call has a new one.
func TestKilledChild(t *testing.T) {
	p := need(t)
	file := filepath.Join(t.TempDir(), "wire")
	c := connect(t, viaTee(t, file, p.node, p.everything(), "stdio"), nil)
	s := open(t, c)
	_, err := s.Call(t.Context(), longRunning(`{"duration":15,"steps":300}`, func(registry.Progress) { kill(t, file+".pid") }))
	wantError(t, err, registry.KindOutcomeUnknown, registry.Sent)
	if _, err := s.CallTool(t.Context(), "echo", json.RawMessage(`{"message":"again"}`), everybody); err != nil {
		t.Error(err)
	}
	if n := len(seen(readTranscript(t, file), "tools/call")); n != 2 {
		t.Errorf("the servers saw %d calls", n)
	}
}

func kill(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
		return
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		t.Error(err)
		return
	}
	if child, err := os.FindProcess(pid); err == nil {
		_ = child.Kill()
	}
}

// A session that the server has forgotten, as after its restart, fails a call that then has not
// run, and a new session begins. Some servers answer 400 where the protocol wants 404.
func TestForgottenSession(t *testing.T) {
	t.Run("404", func(t *testing.T) {
		p := need(t)
		goOn(t, serveAsking(t, p, "stream"))
	})
	t.Run("400", func(t *testing.T) {
		p := need(t)
		goOn(t, serveEverything(t, p))
	})
}

func goOn(t *testing.T, address string) {
	t.Helper()
	w, address := startWatch(t, address)
	c := connect(t, overHTTP(address), nil)
	s := open(t, c)
	echo := func() error {
		_, err := s.CallTool(t.Context(), "echo", json.RawMessage(`{"message":"hi"}`), everybody)
		return err
	}
	if err := echo(); err != nil {
		t.Fatal(err)
	}
	forget(t, address, w.await(t, "tools/call").Header)
	err := echo()
	for n := 0; err != nil; n++ {
		var e *registry.Error
		if !errors.As(err, &e) || e.Ran == registry.Sent || n == 3 {
			t.Fatalf("call %d: %v", n+1, err)
		}
		t.Logf("%s, %s, %s: %v", e.Kind, e.Phase, e.Ran, e)
		err = echo()
	}
}

// forget ends a session behind its client's back.
func forget(t *testing.T, address string, header http.Header) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), guard)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Mcp-Session-Id", "Mcp-Protocol-Version"} {
		req.Header.Set(name, header.Get(name))
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the server answered %s", resp.Status)
	}
}

// Warm spares are started before they are needed, and each serves one call.
func TestWarmSpares(t *testing.T) {
	p := need(t)
	file := filepath.Join(t.TempDir(), "wire")
	c := connect(t, viaTee(t, file, p.node, p.everything(), "stdio")+"\n    session: {warm: 2}", nil)
	for n := range 4 {
		if got := text(t, call(t, c, "echo", fmt.Sprintf(`{"message":"%d"}`, n))); got != fmt.Sprintf("Echo: %d", n) {
			t.Errorf("call %d: %s", n, got)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	list := readTranscript(t, file)
	calls, sessions := len(seen(list, "tools/call")), len(seen(list, "initialize"))
	if calls != 4 || sessions < 4 || sessions > 6 {
		t.Errorf("%d calls in %d sessions", calls, sessions)
	}
}
