package mcpclient

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
)

// pipes is a listener whose connections are pipes in memory.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// streaming is a server in memory, with one action for each time that its stream is opened, by a GET
// or, in the newest protocol, by subscriptions/listen; the last is repeated.
type streaming struct {
	protocol string // legacy where it is empty
	actions  []func(w http.ResponseWriter, r *http.Request)
	began    time.Time

	mu     sync.Mutex
	opened []string // when, and with which Last-Event-ID
}

func (s *streaming) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		s.act(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	m := parse(body)
	method, _ := text(m.method)
	answer := func(result string) {
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(m.id)+`,"result":`+result+`}`)
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case m.id == nil:
		w.WriteHeader(http.StatusAccepted)
	case method == "server/discover":
		answer(`{"resultType":"complete","supportedVersions":["` + modern + `"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}}}`)
	case method == "subscriptions/listen":
		r.Header.Set("Id", string(m.id))
		s.act(w, r)
	default:
		w.Header().Set("Mcp-Session-Id", "one")
		goodReply(method, m.id, answer)
	}
}

func (s *streaming) act(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodDelete {
		return
	}
	s.mu.Lock()
	n := len(s.opened)
	s.opened = append(s.opened, strings.TrimSpace(time.Since(s.began).String()+" "+r.Header.Get("Last-Event-ID")))
	s.mu.Unlock()
	s.actions[min(n, len(s.actions)-1)](w, r)
}

func (s *streaming) when() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.opened...)
}

func status(code int, headers ...string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
	}
}

// says writes this to the stream, and ends it.
func says(text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(w, text)
	}
}

// stays leaves the stream open, for this long or as long as the client wants.
func stays(d time.Duration) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		ctx, cancel := context.WithTimeout(r.Context(), d)
		defer cancel()
		<-ctx.Done()
	}
}

const (
	forever = 1000 * time.Hour
	news    = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/unknown\"}\n\n"
)

// connectInMemory connects to a server over pipes, and returns the session and its notifications.
func connectInMemory(t *testing.T, s *streaming) (*Session, *Subscription) {
	l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	web := &http.Server{Handler: s}
	go func() { _ = web.Serve(l) }()
	server := webServer("http://127.0.0.1/mcp", rule("echo"))
	server.Protocol, server.Resources = legacy, rules(rule("docs://*"))
	if s.protocol != "" {
		server.Protocol = s.protocol
	}
	c := newClient(t, map[string]*config.Server{"web": server})
	t.Cleanup(func() { _ = web.Close() })
	c.dial = func(s *config.Server, v *variables, _ effects.Set, n *notes) (peer, error) {
		p, err := newHTTP(s, v, n)
		p.carrier.DialContext = l.dial
		return asPeer(p, err)
	}
	sub := c.servers["web"].shared().Subscribe()
	s.began = time.Now()
	session, err := c.Connect(t.Context(), "web", nobody)
	if err != nil {
		t.Fatal(err)
	}
	return session, sub
}

func TestStreamIsOpenedAgain(t *testing.T) {
	type list = []func(http.ResponseWriter, *http.Request)
	for _, row := range []struct {
		name    string
		actions list
		want    []string // in the first two minutes
		told    int
	}{
		{"stays", list{stays(forever)}, []string{"0s"}, 0},
		{"none", list{status(405)}, []string{"0s"}, 0},
		{"unknown", list{status(404)}, []string{"0s"}, 0},
		{"unauthenticated", list{status(401)}, []string{"0s"}, 0},
		{"forbidden", list{status(403)}, []string{"0s"}, 0},
		{"a redirect", list{status(302, "Location", "/")}, []string{"0s"}, 0},
		{"no stream", list{status(200, "Content-Type", "text/html")}, []string{"0s"}, 0},
		{"refused later", list{says(news), status(401)}, []string{"0s", "1s"}, 1},
		{"fails", list{status(500), status(502), status(500), status(504), status(503), status(408), stays(forever)}, []string{"0s", "1s", "3s", "7s", "15s", "31s", "1m1s"}, 0},
		{"fails, and asks for patience", list{status(503, "Retry-After", "12"), status(429, "Retry-After", "3600"), stays(forever)}, []string{"0s", "12s", "42s"}, 0},
		{"says nothing", list{says(""), says(""), says(""), stays(forever)}, []string{"0s", "1s", "3s", "7s"}, 0},
		{"says something each time", list{says(news), says(news), says(news), stays(forever)}, []string{"0s", "1s", "2s", "3s"}, 3},
		{"lasts", list{status(500), status(500), stays(40 * time.Second), stays(40 * time.Second), stays(forever)}, []string{"0s", "1s", "3s", "44s", "1m25s"}, 0},
		{"retry", list{says("retry: 5000\n\n"), says("retry: 99999999999999999999\n" + news), says("retry: 0\n\n"), says("retry: soon\n\n"), stays(forever)}, []string{"0s", "5s", "35s", "36s", "37s"}, 1},
		{"ids", list{says("id: a 1\n" + news + "id: half\ndata: {}"), says("id: \x01\n" + news), says("id:\n\n"), stays(forever)}, []string{"0s", "1s a 1", "2s a 1", "3s"}, 2},
		{"an id that is too long", list{says("id: " + strings.Repeat("x", maxEventID+1) + "\n" + news), stays(forever)}, []string{"0s", "1s"}, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &streaming{actions: row.actions}
				session, sub := connectInMemory(t, s)
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				if diff := cmp.Diff(row.want, s.when()); diff != "" {
					t.Error(diff)
				}
				began := time.Now()
				_ = session.Close()
				if took := time.Since(began); took != 0 {
					t.Errorf("Close took %v", took)
				}
				told := 0
				for range sub.All(t.Context()) {
					told++
				}
				if told != row.told {
					t.Errorf("told %d times, want %d", told, row.told)
				}
				time.Sleep(2 * time.Minute)
				if n := len(s.when()); n != len(row.want) {
					t.Errorf("opened %d times after the end", n-len(row.want))
				}
			})
		})
	}
}

// TestClosedBetweenStreams closes a client while it waits to open a stream again, and lets a
// session go that its server has forgotten.
func TestClosedBetweenStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &streaming{actions: []func(http.ResponseWriter, *http.Request){status(500)}}
		session, _ := connectInMemory(t, s)
		time.Sleep(20 * time.Second)
		began := time.Now()
		_ = session.client.Close()
		if took := time.Since(began); took != 0 || len(s.when()) != 5 {
			t.Errorf("Close took %v after %v", took, s.when())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := &streaming{actions: []func(http.ResponseWriter, *http.Request){status(500)}}
		session, _ := connectInMemory(t, s)
		synctest.Wait()
		session.live().peer.(*httpPeer).expired.Store(true)
		time.Sleep(2 * time.Minute)
		if n := len(s.when()); n != 1 {
			t.Errorf("opened %d times for a session that is no more", n)
		}
	})
}
