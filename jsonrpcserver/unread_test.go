package jsonrpcserver

import (
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// nonsense is lines of which each is refused. The first has the reader take a buffer of 64 KiB.
var nonsense = strings.Repeat("x", 10_000) + strings.Repeat("\nx", 60_000)

// Where too many refusals are unread a peer's own wait until it reads, with no goroutine
// to write them, and what it sends meanwhile is answered then.
func TestUnreadRefusalsWait(t *testing.T) {
	forEachFraming(t, func(t *testing.T, headers bool) {
		s := newServer(t, Backend{}, nil)
		s.unread.Add(maxSurplus)
		dir := t.TempDir()
		c := dial(t, listen(t, s, Endpoint{Scheme: "unix", Address: filepath.Join(dir, "s")}), headers)
		c.call(callEcho, `{"jsonrpc":"2.0","result":null,"id":1}`)
		before := runtime.NumGoroutine()
		const n = 20_000
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			for range n {
				c.send("x")
			}
			c.send(`{"jsonrpc":"2.0","method":"echo","id":2}`)
		}()
		for guard := time.Now().Add(hang); s.unread.Load() < maxSurplus+ownSurplus+writerCost; runtime.Gosched() {
			if time.Now().After(guard) {
				t.Fatal("no refusals wait")
			}
		}
		if now := runtime.NumGoroutine(); now > before+1 {
			t.Errorf("%d goroutines, and %d while refusals wait", before, now)
		}
		for range n {
			c.expect(refused(-32700, "null"))
		}
		c.expect(`{"jsonrpc":"2.0","result":null,"id":2}`)
		<-sent
		if left := s.unread.Load(); left != maxSurplus {
			t.Errorf("%d bytes count as unread that were read", left-maxSurplus)
		}
	})
}

// A peer that leaves refusals unread has no right to memory that others wait for: its
// connection ends, and theirs go on.
func TestUnreadRefusalsGiveWay(t *testing.T) {
	for name, unread := range map[string]int64{"little is unread": 0, "much is unread": maxSurplus} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, Backend{}, &Options{WriteTimeout: time.Hour})
				s.unread.Add(unread)
				local := &ConnOptions{Origin: "unix", Caller: LocalCaller}
				deaf, other := serve(t, s, local, false), serve(t, s, local, false)
				go func() { _, _ = io.WriteString(deaf.conn, nonsense) }()
				synctest.Wait()
				rest := &hold{size: s.middle.free, evict: func() {}}
				if rest.size != middleBudget-middleMessage || !s.middle.try(rest) {
					t.Fatalf("%d bytes are free", rest.size)
				}
				defer s.middle.release(rest)
				began := time.Now()
				go other.send(`{"jsonrpc":"2.0","method":"echo","id":1,"params":["` + strings.Repeat("x", 10_000) + `"]}`)
				got, err := other.receive(hang)
				if err != nil || !strings.Contains(got, "xxx") || time.Since(began) > patience {
					t.Errorf("%.100q %v after %v", got, err, time.Since(began))
				}
				other.call(callEcho, `{"jsonrpc":"2.0","result":null,"id":1}`)
			})
		})
	}
}
