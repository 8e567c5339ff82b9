package jsonrpcserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cupule/cupule/registry"
)

const callGate = `{"jsonrpc":"2.0","method":"gate","id":1}`

// A stream that is reset cancels its call, and only that.
func TestHTTP2Reset(t *testing.T) {
	g := newGate()
	s, l := httpsListener(t, Backend{Registry: newRegistry(t, g.operation())}, nil)
	p := dialH2(t, l.Addr().String())
	given, kept := p.post(callGate), p.post(callGate)
	g.waitStarted(t, 2)
	p.reset(given)
	g.waitCancelled(t)
	if n := s.Stats().Calls; n > 2 {
		t.Errorf("%d calls", n)
	}
	mustContain(t, "another call", p.call(callEcho), `"result":null`)
	close(g.open)
	mustContain(t, "the other call", p.answers(kept)[kept].body, "opened")
	settles(t, s, 1)
}

// What a connection may have in flight, in calls and in bytes, and what all of them may.
func TestHTTP2Limits(t *testing.T) {
	for _, row := range []struct {
		name        string
		opts        Options
		connections int
		size        int // of a request
		runs        func(connection, call int) bool
	}{
		{"calls of the server", Options{MaxCalls: 5}, 3, 0, func(i, j int) bool { return 4*i+j < 5 }},
		{"bytes of a connection", Options{MaxInFlightBytes: 10_000}, 2, 3000, func(_, j int) bool { return j < 3 }},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := newGate()
			s, l := httpsListener(t, Backend{Registry: newRegistry(t, g.operation())}, &row.opts)
			running := map[*h2peer][]uint32{}
			n := int64(0)
			for i := range row.connections {
				p := dialH2(t, l.Addr().String())
				for j := range 4 {
					id := p.post(callGate + strings.Repeat(" ", row.size))
					if !row.runs(i, j) {
						mustContain(t, fmt.Sprintf("call %d of connection %d", j, i), p.answers(id)[id].body, "-32003")
						continue
					}
					g.waitStarted(t, 1)
					running[p] = append(running[p], id)
					n++
				}
			}
			if got := s.Stats().Calls; got != n {
				t.Errorf("%d calls, want %d", got, n)
			}
			close(g.open)
			for p, ids := range running {
				all := p.answers(ids...)
				for _, id := range ids {
					mustContain(t, "a running call", all[id].body, "opened")
				}
			}
			settles(t, s, int64(row.connections))
		})
	}
}

// More streams at once than a connection may have are refused, and the others go on.
func TestHTTP2StreamsPastTheLimit(t *testing.T) {
	g := newGate()
	s, l := httpsListener(t, Backend{Registry: newRegistry(t, g.operation())}, &Options{MaxInFlight: 3})
	p := dialH2(t, l.Addr().String())
	p.call(callEcho) // the settings have been acknowledged
	p.send(h2frame{kind: frameSettings, flags: flagEnd})
	ids := []uint32{p.post(callGate), p.post(callGate), p.post(callGate)}
	g.waitStarted(t, 3)
	surplus := p.post(callGate)
	if a := p.answers(surplus)[surplus]; !a.reset {
		t.Errorf("%+v", a)
	}
	close(g.open)
	for id, a := range p.answers(ids...) {
		if id != surplus {
			mustContain(t, "a call", a.body, "opened")
		}
	}
	settles(t, s, 1)
}

// Opening and resetting streams as fast as can be leaves nothing behind, and others are served.
func TestHTTP2RapidReset(t *testing.T) {
	var ran, over atomic.Int64
	op := registry.Operation{Name: "wait", Timeout: time.Minute, Handler: func(ctx context.Context, _ *registry.Call) (json.RawMessage, error) {
		ran.Add(1)
		defer over.Add(1)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	s, l := httpsListener(t, Backend{Registry: newRegistry(t, op)}, nil)
	honest := dialH2(t, l.Addr().String())
	honest.call(callEcho)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 3 {
			p := dialH2(t, l.Addr().String())
			go func() {
				for _, err := p.receive(true); err == nil; _, err = p.receive(true) {
				}
			}()
			body := `{"jsonrpc":"2.0","method":"wait","id":1}`
			for range 3000 {
				id := p.next
				p.next += 2
				burst := h2frame{frameHeaders, flagEndHeaders, id, postHeader(len(body))}.encode()
				burst = append(burst, h2frame{frameData, flagEnd, id, []byte(body)}.encode()...)
				if p.try(append(burst, h2frame{frameReset, 0, id, []byte{0, 0, 0, 8}}.encode()...)) != nil {
					break // the server has had enough
				}
			}
			_ = p.conn.Close()
		}
	}()
	for flooding := true; flooding; {
		select {
		case <-done:
			flooding = false
		default:
		}
		mustContain(t, "another client", honest.call(callEcho), `"result":null`)
		if n := s.Stats().Calls; n > DefaultMaxInFlight*3 {
			t.Fatalf("%d calls in flight", n)
		}
	}
	settles(t, s, 1)
	if ran.Load() != over.Load() {
		t.Errorf("%d calls began, %d ended", ran.Load(), over.Load())
	}
}

// A drain says GOAWAY, lets running streams finish within the grace, takes no new ones, and
// closes the connection.
func TestHTTP2GoAway(t *testing.T) {
	g := newGate()
	server, _ := certificate(t)
	s := newServer(t, Backend{Registry: newRegistry(t, g.operation())}, nil)
	l, err := s.Listen(t.Context(), Endpoint{Scheme: "https", Address: "127.0.0.1:0", Anonymous: true, TLS: server})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	p, idle := dialH2(t, l.Addr().String()), dialH2(t, l.Addr().String())
	idle.call(callEcho)
	id := p.post(callGate)
	g.waitStarted(t, 1)
	cancel()
	for {
		f, err := p.receive(true)
		if err != nil {
			t.Fatal("no GOAWAY: ", err)
		}
		if f.kind == frameGoAway {
			break
		}
	}
	idle.ends()
	late := p.post(callEcho)
	close(g.open)
	all := p.answers(id)
	mustContain(t, "the running call", all[id].body, "opened")
	if a := all[late]; a != nil && strings.Contains(a.body, `"result"`) {
		t.Errorf("a call after GOAWAY was answered: %+v", a)
	}
	p.ends()
	if err := <-done; err != nil {
		t.Error(err)
	}
	settles(t, s, 0)
}

// Neither the deadline of a message nor that of a write ends a call that runs for longer,
// whether or not it has reported progress.
func TestHTTP2LongCalls(t *testing.T) {
	const limit = 200 * time.Millisecond // and for the handshake
	op := registry.Operation{Name: "long", Timeout: time.Minute, Handler: func(ctx context.Context, c *registry.Call) (json.RawMessage, error) {
		for i := range 2 {
			c.Progress(registry.Progress{Progress: float64(i + 1)})
			select {
			case <-time.After(3 * limit): // past both deadlines
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return json.RawMessage("true"), nil
	}}
	forEachVersionOf(t, Backend{Registry: newRegistry(t, op)}, &Options{MessageTimeout: limit, WriteTimeout: limit, IdleTimeout: limit}, func(t *testing.T, ask asker) {
		for name, accept := range map[string]string{"events": "text/event-stream", "one answer": "*/*"} {
			got := ask(t.Context(), `{"jsonrpc":"2.0","method":"long","id":1,"meta":{"progressToken":1}}`, accept)
			mustContain(t, name, got, `"result":true`)
			if n := strings.Count(got, "$/progress"); n != 2 && accept != "*/*" {
				t.Errorf("%s: %d reports", name, n)
			}
		}
	})
}

// Events of two calls on one connection keep their order each. A stream whose window the
// client leaves shut holds up no other, and is given up after the write deadline.
func TestHTTP2Windows(t *testing.T) {
	s, l := httpsListener(t, Backend{Registry: newRegistry(t, progressing(50, 0))}, &Options{WriteTimeout: 300 * time.Millisecond})
	p := dialH2(t, l.Addr().String(), settingWindow, 1<<20)
	work := `{"jsonrpc":"2.0","method":"work","id":%d,"meta":{"progressToken":%d}}`
	a, b := p.post(fmt.Sprintf(work, 1, 1), "accept", "text/event-stream"), p.post(fmt.Sprintf(work, 2, 2), "accept", "text/event-stream")
	for id, answer := range p.answers(a, b) {
		events := readEvents(strings.NewReader(answer.body))
		if len(events) != 51 || !strings.Contains(events[50], `"result":null`) {
			t.Fatalf("stream %d: %d events: %q", id, len(events), events)
		}
		for i, event := range events[:50] {
			mustContain(t, fmt.Sprint("stream ", id), event, fmt.Sprintf(`"progress":%d,`, i+1), fmt.Sprintf(`"token":%d,`, (id+1)/2))
		}
	}
	shut := dialH2(t, l.Addr().String(), settingWindow, 0)
	for _, accept := range []string{"*/*", "text/event-stream"} {
		for _, method := range []string{"work", "echo"} {
			id := shut.post(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"id":1,"meta":{"progressToken":1}}`, method), "accept", accept)
			mustContain(t, "beside it", p.call(callEcho), `"result":null`)
			if a := shut.answers(id)[id]; !a.reset || a.body != "" {
				t.Errorf("%s %s: %+v", method, accept, a)
			}
		}
	}
	settles(t, s, 2)
}

// A client that reads nothing at all is dropped after the write deadline with all its
// calls, though its connection is alive.
func TestHTTP2PeerThatDoesNotRead(t *testing.T) {
	var ran atomic.Int64
	s, l := httpsListener(t, Backend{Registry: newRegistry(t, largeResult(&ran), progressing(20_000, 8000))}, &Options{WriteTimeout: 300 * time.Millisecond})
	for name, flood := range map[string]func(*h2peer){
		"a result": func(p *h2peer) { p.post(`{"jsonrpc":"2.0","method":"large","id":1}`) },
		"pings": func(p *h2peer) {
			ping := h2frame{kind: framePing, payload: make([]byte, 8)}.encode()
			for range 5000 { // more than the buffers of sockets hold
				if p.try([]byte(strings.Repeat(string(ping), 1000))) != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := dialH2(t, l.Addr().String(), settingWindow, 1<<30)
			p.send(h2frame{frameWindow, 0, 0, []byte{0x3f, 0, 0, 0}})
			flood(p)
			if name == "a result" {
				for ran.Load() == 0 {
					time.Sleep(time.Millisecond)
				}
			}
			settles(t, s, 0)
		})
	}
}

// Requests that are begun and left on many streams are refused when they become too many,
// while each connection may still have one, and are ended when their time is over.
func TestHTTP2Seats(t *testing.T) {
	s, l := httpsListener(t, withCallers(t), &Options{MaxConnections: 10, MessageTimeout: 2 * time.Second, WriteTimeout: time.Second})
	const admin = "Bearer admin-token"
	p := dialH2(t, l.Addr().String())
	var halves []uint32
	for range 11 {
		halves = append(halves, p.open(100, "authorization", admin))
	}
	for deadline := time.Now().Add(hang); s.seated.Load() < 10; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(s.seated.Load())
		}
	}
	surplus := p.open(100, "authorization", admin)
	if a := p.answers(surplus)[surplus]; a.body != "" || !strings.Contains(a.header, "503") {
		t.Errorf("%+v", a)
	}
	other := dialH2(t, l.Addr().String())
	mustContain(t, "the first request of another connection", other.call(callWhoami, "authorization", admin), "admin via http")
	all := p.answers(halves...)
	for _, id := range halves {
		mustContain(t, fmt.Sprint("half a body on stream ", id), all[id].body, "took too long")
	}
	mustContain(t, "a whole request then", p.call(callWhoami, "authorization", admin), "admin via http")
	if n := s.seated.Load(); n != 0 {
		t.Errorf("%d seats are taken", n)
	}
}

// What a proxy could read otherwise is refused, and runs nothing.
func TestHTTP2Contradictions(t *testing.T) {
	_, l := httpsListener(t, withCallers(t), nil)
	p := dialH2(t, l.Addr().String())
	const admin = "Bearer admin-token"
	for _, row := range []struct{ name, value, want string }{
		{"host", "evil.example", "unknown host"},
		{"content-length", "1", "Content-Length must stand there once"},
		{"content-length", fmt.Sprint(len(callWhoami)), "Content-Length must stand there once"},
	} {
		mustContain(t, row.name+" "+row.value, p.call(callWhoami, row.name, row.value, "authorization", admin), row.want)
	}
	mustContain(t, "the same host twice", p.call(callWhoami, "authorization", admin, "host", "LOCALHOST"), "admin via http")
}

// Streams whose windows are shut are given up whatever they asked for, in time and not
// before: nothing that is answered without a call is left.
func TestHTTP2ShutWindows(t *testing.T) {
	s, l := httpsListener(t, withCallers(t), &Options{WriteTimeout: 300 * time.Millisecond})
	p := dialH2(t, l.Addr().String(), settingWindow, 0)
	for name, header := range map[string][]string{
		"health":        {":method", "GET", ":path", "/healthz"},
		"wrong path":    {":method", "GET", ":path", "/nothing"},
		"wrong method":  {":method", "PUT", ":path", "/rpc"},
		"no token":      {":method", "POST", ":path", "/rpc"},
		"wrong host":    {":method", "POST", ":path", "/rpc", "host", "evil.example"},
		"large header":  {":method", "POST", ":path", "/rpc", "x", strings.Repeat("x", maxHTTPHeader)},
		"broken header": {":method", "POST", ":path", "/rpc", "connection", "close"},
	} {
		id := p.next
		p.next += 2
		authority := []string{":scheme", "https", ":authority", "localhost"}
		p.send(h2frame{frameHeaders, flagEnd | flagEndHeaders, id, hpack(append(authority, header...)...)})
		if a := p.answers(id)[id]; !a.reset || a.body != "" {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if n := s.seated.Load(); n != 0 {
		t.Errorf("%d seats are taken", n)
	}
}

// Frames that cost a server more than their sender end the connection or are borne, and
// keep nobody out; what a header has too much of is refused.
func TestHTTP2Floods(t *testing.T) {
	s, l := httpsListener(t, Backend{}, nil)
	honest := dialH2(t, l.Addr().String())
	for _, row := range []struct {
		name  string
		begin []h2frame
		again h2frame // many times
		ends  bool    // the connection
	}{
		{"settings", nil, h2frame{kind: frameSettings, payload: []byte{0, 4, 0, 1, 0, 0}}, false},
		{"empty settings", nil, h2frame{kind: frameSettings}, false},
		{"acknowledged settings", nil, h2frame{kind: frameSettings, flags: flagEnd}, true},
		{"pings", nil, h2frame{kind: framePing, payload: make([]byte, 8)}, false},
		{"priorities", nil, h2frame{framePriority, 0, 1, []byte{0, 0, 0, 0, 1}}, false},
		{"unknown frames", nil, h2frame{99, 0, 0, make([]byte, 1000)}, false},
		{"frames that are too large", nil, h2frame{frameData, 0, 1, make([]byte, 16<<10+1)}, true},
		{"empty continuations", []h2frame{{frameHeaders, 0, 1, postHeader(10)}}, h2frame{frameContinuation, 0, 1, nil}, false},
		{"continuations", []h2frame{{frameHeaders, 0, 1, postHeader(10)}}, h2frame{frameContinuation, 0, 1, hpack("x", strings.Repeat("x", 10_000))}, true},
		{"small fields", []h2frame{{frameHeaders, 0, 1, postHeader(10)}}, h2frame{frameContinuation, 0, 1, hpack("x", "", "x", "", "x", "")}, true},
		{"empty data", []h2frame{{frameHeaders, flagEndHeaders, 1, postHeader(10)}}, h2frame{frameData, 0, 1, nil}, false},
		{"windows", nil, h2frame{frameWindow, 0, 0, []byte{0, 0, 0, 1}}, false},
		{"windows that overflow", nil, h2frame{frameWindow, 0, 0, []byte{0x7f, 0xff, 0xff, 0xff}}, true},
		{"resets of nothing", nil, h2frame{frameReset, 0, 1, make([]byte, 4)}, true},
		{"a push", nil, h2frame{framePush, flagEndHeaders, 1, make([]byte, 4)}, true},
		{"an even stream", nil, h2frame{frameHeaders, flagEndHeaders | flagEnd, 2, postHeader(0)}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := dialH2(t, l.Addr().String())
			reading := make(chan struct{})
			go func() {
				defer close(reading)
				for _, err := p.receive(false); err == nil; _, err = p.receive(false) {
				}
			}()
			for _, f := range row.begin {
				p.send(f)
			}
			many := []byte(strings.Repeat(string(row.again.encode()), 1+20_000/(9+len(row.again.payload))))
			ended := false
			for range 8 {
				ended = ended || p.try(many) != nil
			}
			mustContain(t, "another client", honest.call(callEcho), `"result":null`)
			if row.ends {
				<-reading
			}
			if ended && !row.ends {
				t.Error("the connection was ended")
			}
			_ = p.conn.Close()
			<-reading
			settles(t, s, 1)
		})
	}
}
