package mcpclient

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/registry"
)

// TestPlaces has lists wait for each other: one at a time for a server, a few for all.
func TestPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Client{large: make(chan struct{}, maxLargeLists)}
		servers := make([]*server, maxLargeLists+1)
		for i := range servers {
			servers[i] = newServer(c, "s", &config.Server{})
		}
		first := servers[0].place(t.Context())
		if err := first.claim(); err != nil || first.claim() != nil {
			t.Fatal(err)
		}
		claimIn := func(s *server, d time.Duration) (*place, error) {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			t.Cleanup(cancel)
			p := s.place(ctx)
			return p, p.claim()
		}
		late, err := claimIn(servers[0], seconds(1))
		if e := wantKind(t, err, registry.KindTimeout, registry.NotSent); late.refusal() != e || late.claim() != e {
			t.Errorf("%v", late.refusal())
		}
		late.done()
		var others []*place
		for _, s := range servers[1:maxLargeLists] {
			p, err := claimIn(s, seconds(1))
			if err != nil {
				t.Error(err)
			}
			others = append(others, p)
		}
		last := servers[maxLargeLists]
		p, err := claimIn(last, seconds(1))
		wantKind(t, err, registry.KindTimeout, registry.NotSent)
		p.done()
		if len(last.large) != 0 {
			t.Error("the server's token was kept without the client's")
		}
		// The reader may be there longer than the caller, or the caller longer than the reader.
		first.use()
		first.done()
		if len(c.large) != maxLargeLists {
			t.Error("the place was given back while it was used")
		}
		time.AfterFunc(seconds(1), first.done)
		began := time.Now()
		if p, err = claimIn(last, seconds(5)); err != nil || time.Since(began) != seconds(1) {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		for _, p := range append(others, p) {
			p.done()
		}
		if len(c.large) != 0 || len(last.large) != 0 {
			t.Errorf("%d places are left", len(c.large))
		}
	})
}

// TestDribbledList has a server that stops amid a large list. Its next caller waits for that in vain;
// those of another server don't.
func TestDribbledList(t *testing.T) {
	for _, kind := range []string{"application/json", "text/event-stream"} {
		t.Run(kind, func(t *testing.T) {
			before := measure()
			t.Run("", func(t *testing.T) { dribble(t, kind) })
			wantNothingLeft(t, before)
		})
	}
}

func dribble(t *testing.T, kind string) {
	begun := make(chan struct{}, 8)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m := parse(body)
		method, _ := text(m.method)
		if m.id == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", kind)
		answer := `{"jsonrpc":"2.0","id":` + string(m.id) + `,"result":` + fatList(method) + "}\n\n"
		if kind != "application/json" {
			answer = "data: " + answer
		}
		if method != "tools/list" {
			_, _ = io.WriteString(w, answer)
			return
		}
		_, _ = io.WriteString(w, answer[:len(answer)-5]+strings.Repeat(" ", 2*largeList))
		_ = http.NewResponseController(w).Flush()
		begun <- struct{}{}
		<-r.Context().Done()
	}))
	defer web.Close()
	slow, good := webServer(web.URL, rule("echo")), webServer(fatWeb(t, "tools", kind != "application/json"), rule("echo"))
	slow.Protocol, good.Protocol = legacy, legacy
	slow.Allowed["echo"].Timeout = short
	c := newClient(t, map[string]*config.Server{"slow": slow, "good": good})
	errs := make(chan error, 2)
	for range cap(errs) {
		go func() {
			_, err := c.CallTool(t.Context(), "slow", "echo", nil, nobody)
			errs <- err
		}()
		<-begun
	}
	if _, err := c.CallTool(t.Context(), "good", "echo", nil, nobody); err != nil {
		t.Error(err)
	}
	for range cap(errs) {
		if e := wantKind(t, <-errs, registry.KindTimeout, registry.NotSent); e.Phase != phaseList || e.Limit == nil || e.Limit.Name != "timeout" {
			t.Errorf("%s: %v", e.Phase, e)
		}
	}
	if len(c.large) != 0 || len(c.servers["slow"].large) != 0 {
		t.Error("a place is left")
	}
}

// TestDribbledLine is TestDribbledList over a pipe.
func TestDribbledLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rule("echo")
		r.Timeout = seconds(5)
		s := &config.Server{Startup: seconds(8), Protocol: legacy, Allowed: rules(r)}
		c, _ := inMemory(t, s, except("tools/list", func(answer func(string)) {
			answer(`{"tools":[{"name":"echo","inputSchema":{"type":"object"},"_meta":"` + strings.Repeat("x", 2*largeList) + `"}]}`)
		}))
		// Somebody else reads a large list of this server, and takes his time.
		other := c.servers["m"].place(t.Context())
		if err := other.claim(); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err := c.CallTool(t.Context(), "m", "echo", nil, nobody)
		wantKind(t, err, registry.KindTimeout, registry.NotSent)
		if took := time.Since(began); took != seconds(5) {
			t.Errorf("back after %v", took)
		}
		time.AfterFunc(seconds(3), other.done)
		_, err = c.CallTool(t.Context(), "m", "echo", nil, nobody)
		if e := wantKind(t, err, registry.KindToolMissing, registry.NotSent); !strings.Contains(e.Message, "131072") || time.Since(began) != seconds(8) {
			t.Errorf("after %v: %v", time.Since(began), e)
		}
		_ = c.Close()
		if len(c.large) != 0 || len(c.servers["m"].large) != 0 {
			t.Error("a place is left")
		}
	})
}

// TestPlaceIsGivenBack has a shared session read a large list: neither while its tool runs nor idle
// does it keep others from reading theirs.
func TestPlaceIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}],"_meta":"` + strings.Repeat("x", 2*largeList) + `"}`
		s := &config.Server{Startup: seconds(8), Protocol: legacy, Allowed: rules(rule("echo")), Session: config.Session{Shared: true}}
		c, _ := inMemory(t, s, func(m string, id json.RawMessage, answer func(string)) {
			switch m {
			case "tools/list":
				answer(list)
			case "tools/call": // its answer never comes
			default:
				goodReply(m, id, answer)
			}
		})
		defer c.Close()
		free := func(when string) {
			synctest.Wait()
			if held := len(c.large) + len(c.servers["m"].large); held != 0 {
				t.Errorf("%s: %d rights are held", when, held)
			}
		}
		if tools, err := c.ListTools(t.Context(), "m", nobody); err != nil || len(tools) != 1 {
			t.Fatal(tools, err)
		}
		free("idle")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := c.CallTool(ctx, "m", "echo", nil, nobody)
			done <- err
		}()
		free("while a tool runs")
		cancel()
		wantKind(t, <-done, registry.KindCancelled, registry.Sent)
	})
}
