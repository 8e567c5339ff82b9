package jsonrpcserver

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

// A call over HTTP/2 that outlasts the grace is cancelled, told why, and its connection closed.
func TestHTTP2DrainCancels(t *testing.T) {
	g := newGate()
	server, _ := certificate(t)
	s := newServer(t, Backend{Registry: newRegistry(t, g.operation())}, &Options{Grace: 200 * time.Millisecond})
	l, err := s.Listen(t.Context(), Endpoint{Scheme: "https", Address: "127.0.0.1:0", Anonymous: true, TLS: server})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	p := dialH2(t, l.Addr().String())
	single, batch := p.post(callGate), p.post(callGate3)
	g.waitStarted(t, 4)
	half := p.open(100)
	cancel()
	all := p.answers(single, batch)
	mustContain(t, "a call", all[single].body, "-32010")
	if n := strings.Count(all[batch].body, "-32010"); n != 3 {
		t.Errorf("of a batch: %s", all[batch].body)
	}
	_ = half // its body never comes
	p.ends()
	if err := <-done; err != nil {
		t.Error(err)
	}
	settles(t, s, 0)
	if n := s.seated.Load(); n != 0 {
		t.Errorf("%d seats are taken", n)
	}
}

// A body that is begun gives its memory back when its stream is reset, its connection goes
// or its time is over, and others on the connection are read meanwhile.
func TestHTTP2HalfBodies(t *testing.T) {
	s, l := httpsListener(t, Backend{}, &Options{MessageTimeout: time.Second})
	for name, end := range map[string]func(p *h2peer, id uint32){
		"reset":   func(p *h2peer, id uint32) { p.reset(id) },
		"hang-up": func(p *h2peer, _ uint32) { _ = p.conn.Close() },
		"timeout": func(p *h2peer, id uint32) {
			mustContain(t, "half a body", p.answers(id)[id].body, "took too long")
		},
		"more than was announced": func(p *h2peer, id uint32) {
			for range 50 {
				if p.try(h2frame{frameData, 0, id, make([]byte, 1000)}.encode()) != nil {
					break
				}
			}
		},
	} {
		p := dialH2(t, l.Addr().String())
		size := 900_000
		if name == "more than was announced" {
			size = 20_000
		}
		id := p.open(size)
		p.send(h2frame{frameData, 0, id, make([]byte, 10_000)})
		mustContain(t, "beside it", p.call(callEcho), `"result":null`)
		end(p, id)
		for deadline := time.Now().Add(hang); s.seated.Load() > 0 || s.middle.available() < middleBudget || s.large.available() < largeBudget; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d and %d bytes are free", name, s.middle.available(), s.large.available())
			}
		}
		_ = p.conn.Close()
		settles(t, s, 0)
	}
}

func (b *budget) available() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.free
}

// Of two streams on one connection, one whose window is shut holds the other up neither
// with events nor with an answer.
func TestHTTP2WindowsOfOneConnection(t *testing.T) {
	s, l := httpsListener(t, Backend{Registry: newRegistry(t, progressing(50, 0))}, &Options{WriteTimeout: time.Second})
	p := dialH2(t, l.Addr().String(), settingWindow, 0)
	const work = `{"jsonrpc":"2.0","method":"work","id":1,"meta":{"progressToken":1}}`
	shut := []uint32{p.post(work, "accept", "text/event-stream"), p.post(work)}
	given := map[uint32]bool{}
	for range 5 {
		id := p.post(work, "accept", "text/event-stream")
		p.send(h2frame{frameWindow, 0, id, []byte{0, 1, 0, 0}})
		all := p.answers(id)
		for _, id := range shut { // which may take as long as they may, and no longer
			given[id] = given[id] || all[id] != nil && all[id].reset
		}
		answer := all[id]
		if events := readEvents(strings.NewReader(answer.body)); answer.reset || len(events) != 51 {
			t.Errorf("%d events: %+v", len(events), answer)
		}
	}
	shut = slices.DeleteFunc(shut, func(id uint32) bool { return given[id] })
	all := p.answers(shut...)
	for _, id := range shut {
		if !all[id].reset {
			t.Errorf("stream %d: %+v", id, all[id])
		}
	}
	settles(t, s, 1)
}
