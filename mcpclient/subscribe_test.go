package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/mcpclient/mcptest"
	"github.com/cupule/cupule/registry"
)

// watchedServer is a real server whose tool touch changes a resource and tells how many
// subscriptions there are. Its tool die ends it.
func watchedServer() *mcp.Server {
	var watchers atomic.Int32
	s := mcp.NewServer(&mcp.Implementation{Name: "watched", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { watchers.Add(1); return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { watchers.Add(-1); return nil },
	})
	s.AddResource(&mcp.Resource{Name: "a", URI: "docs://a"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{}, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "touch"}, func(ctx context.Context, _ *mcp.CallToolRequest, in echoInput) (*mcp.CallToolResult, any, error) {
		err := s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: in.Text})
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("watchers: %d", watchers.Load())}}}, nil, err
	})
	mcp.AddTool(s, &mcp.Tool{Name: "die"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		os.Exit(0)
		return nil, nil, nil
	})
	return s
}

// watching returns a session with a watchedServer.
func watching(t *testing.T, web bool, protocol string) *Session {
	s := childServer(t, "watched")
	if web {
		server := watchedServer()
		srv := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
			&mcp.StreamableHTTPOptions{Stateless: protocol == modern, PropagateRequestCancellation: protocol == modern}))
		t.Cleanup(srv.Close)
		s = webServer(srv.URL)
	}
	s.Protocol, s.Allowed, s.Resources = protocol, rules(rule("touch"), rule("die")), rules(rule("docs://*"))
	session, err := newClient(t, map[string]*config.Server{"w": s}).Connect(t.Context(), "w", nobody)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// touch changes a resource until somebody is told of one, and returns which: a stream that is still
// being opened misses what comes before.
func touch(t *testing.T, s *Session, sub *Subscription, uri string) string {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		if _, err := s.CallTool(t.Context(), "touch", json.RawMessage(`{"text":"`+uri+`"}`), nobody); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		n, err := sub.Next(ctx)
		cancel()
		if got, ok := n.ResourceUpdated(); err == nil && ok {
			return got
		}
	}
	t.Fatal("nobody was told")
	return ""
}

// wantWatchers waits until the server has this many subscriptions.
func wantWatchers(t *testing.T, s *Session, n int) {
	t.Helper()
	waitFor(t, fmt.Sprintf("%d watchers", n), func() bool {
		r, err := s.CallTool(t.Context(), "touch", json.RawMessage(`{"text":"docs://none"}`), nobody)
		return err == nil && strings.Contains(string(r.Raw), fmt.Sprintf(`"watchers: %d"`, n))
	})
}

func TestSubscribeResource(t *testing.T) {
	for _, web := range []bool{false, true} {
		for _, protocol := range []string{legacy, modern} {
			t.Run(fmt.Sprintf("web %v, %s", web, protocol), func(t *testing.T) {
				s := watching(t, web, protocol)
				sub := s.Subscribe()
				for _, uri := range []string{"docs://a", "docs://b", "docs://b"} {
					if err := s.SubscribeResource(t.Context(), uri, nobody); err != nil {
						t.Fatal(err)
					}
				}
				if got := touch(t, s, sub, "docs://a"); got != "docs://a" {
					t.Errorf("told of %s", got)
				}
				for range 2 {
					if err := s.UnsubscribeResource(t.Context(), "docs://a", nobody); err != nil {
						t.Fatal(err)
					}
				}
				if protocol == modern {
					wantWatchers(t, s, 1)
				}
				for last := touch(t, s, sub, "docs://b"); last != "docs://b"; {
					last = touch(t, s, sub, "docs://b")
				}
				wantKind(t, s.SubscribeResource(t.Context(), "file:///etc/passwd", nobody), registry.KindMethodNotFound, registry.NotSent)
				wantKind(t, s.UnsubscribeResource(t.Context(), "file:///etc/passwd", nobody), registry.KindMethodNotFound, registry.NotSent)
				if web {
					wantKind(t, s.SubscribeResource(t.Context(), "docs://c", nobody.WithOffline()), registry.KindDenied, registry.NotSent)
				}
				_ = s.Close()
				wantKind(t, s.SubscribeResource(t.Context(), "docs://c", nobody), registry.KindUnavailable, registry.NotSent)
			})
		}
	}
}

// TestSubscriptionsAreRenewed lets a server die, and hears of its successor's resources.
func TestSubscriptionsAreRenewed(t *testing.T) {
	for _, protocol := range []string{legacy, modern} {
		t.Run(protocol, func(t *testing.T) {
			s := watching(t, false, protocol)
			sub := s.Subscribe()
			for _, uri := range []string{"docs://a", "docs://b"} {
				if err := s.SubscribeResource(t.Context(), uri, nobody); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.UnsubscribeResource(t.Context(), "docs://b", nobody); err != nil {
				t.Fatal(err)
			}
			_, err := s.CallTool(t.Context(), "die", nil, nobody)
			wantKind(t, err, registry.KindOutcomeUnknown, registry.Sent)
			wantWatchers(t, s, 1)
			if got := touch(t, s, sub, "docs://a"); got != "docs://a" {
				t.Errorf("told of %s", got)
			}
		})
	}
}

// TestNoSubscriptions asks servers that don't declare the feature: nothing is sent.
func TestNoSubscriptions(t *testing.T) {
	everywhere(t, func(t *testing.T, web bool, speaks mcptest.Generation) {
		script := mcptest.Good()
		script.Speaks = speaks
		s := scriptedServer(t, web, script)
		s.Resources = rules(rule("docs://*"))
		session, err := newClient(t, map[string]*config.Server{"lib": s.Server}).Connect(t.Context(), "lib", nobody)
		if err != nil {
			t.Fatal(err)
		}
		e := wantKind(t, session.SubscribeResource(t.Context(), "docs://a", nobody), registry.KindUpstreamError, registry.NotSent)
		if !strings.Contains(e.Message, "resources.subscribe") || e.Tool != "docs://a" {
			t.Errorf("%+v", e)
		}
		if err := session.UnsubscribeResource(t.Context(), "docs://a", nobody); err != nil {
			t.Error(err)
		}
		if n := s.record().Count("resources/subscribe") + s.record().Count("resources/unsubscribe"); n != 0 {
			t.Errorf("%d requests", n)
		}
	})
}

// observed collects events.
type observed struct {
	mu   sync.Mutex
	list []registry.Event
}

func (o *observed) Observe(_ context.Context, e registry.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(o.list, e)
}

const telling = `"capabilities":{"resources":{"subscribe":true}}`

// TestSubscriptionThatIsNotConfirmed has servers that say nothing, or no, and more resources than
// a session may have.
func TestSubscriptionThatIsNotConfirmed(t *testing.T) {
	for _, row := range []struct {
		protocol, method string
		answers          bool
		kind             registry.Kind
		ran              registry.Ran
	}{
		{legacy, "resources/subscribe", false, registry.KindTimeout, registry.Sent},
		{modern, "subscriptions/listen", false, registry.KindTimeout, registry.Sent},
		{modern, "subscriptions/listen", true, registry.KindUpstreamError, registry.Completed},
	} {
		synctest.Test(t, func(t *testing.T) {
			resource := rule("docs://*")
			resource.Timeout = seconds(3)
			s := &config.Server{Startup: seconds(8), Protocol: row.protocol, Resources: rules(resource)}
			c, _ := inMemory(t, s, func(method string, _ json.RawMessage, answer func(string)) {
				switch {
				case method == "initialize":
					answer(`{"protocolVersion":"` + legacy + `","serverInfo":{"name":"m"},` + telling + `}`)
				case method == "server/discover":
					answer(`{"supportedVersions":["` + modern + `"],` + telling + `}`)
				case method == row.method && row.answers:
					answer(`{}`)
				}
			})
			seen := &observed{}
			c.observer = seen
			session, err := c.Connect(t.Context(), "m", nobody)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			wantKind(t, session.SubscribeResource(t.Context(), "docs://a", nobody), row.kind, row.ran)
			if took := time.Since(began); !row.answers && took != seconds(3) {
				t.Errorf("back after %v", took)
			}
			synctest.Wait()
			if len(session.resources) != 0 || len(session.live().watches) != 0 {
				t.Errorf("left: %v %v", session.resources, session.live().watches)
			}
			if len(seen.list) != 1 || seen.list[0].Subject.Name != "m/docs://a" || seen.list[0].Err == nil {
				t.Errorf("events: %+v", seen.list)
			}
			_ = c.Close()
			time.Sleep(seconds(2))
		})
	}
}

func TestSubscribedResourcesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &config.Server{Startup: seconds(8), Protocol: legacy, Resources: rules(rule("docs://*"))}
		c, _ := inMemory(t, s, func(method string, _ json.RawMessage, answer func(string)) {
			switch method {
			case "initialize":
				answer(`{"protocolVersion":"` + legacy + `","serverInfo":{"name":"m"},` + telling + `}`)
			case "resources/subscribe", "resources/unsubscribe":
				answer(`{}`)
			}
		})
		session, err := c.Connect(t.Context(), "m", nobody)
		if err != nil {
			t.Fatal(err)
		}
		subscribe := func(i int) error {
			return session.SubscribeResource(t.Context(), fmt.Sprintf("docs://%d", i), nobody)
		}
		for i := range MaxSubscribed {
			if err := subscribe(i); err != nil {
				t.Fatal(err)
			}
		}
		if e := wantKind(t, subscribe(MaxSubscribed), registry.KindOverloaded, registry.NotSent); e.Limit.Count != MaxSubscribed {
			t.Errorf("%+v", e.Limit)
		}
		if err := session.UnsubscribeResource(t.Context(), "docs://0", nobody); err != nil {
			t.Error(err)
		}
		if err := subscribe(MaxSubscribed); err != nil {
			t.Error(err)
		}
		_ = c.Close()
	})
}
