package jsonrpcserver

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// taker asks a budget for memory in virtual time.
type taker struct {
	hold
	got     chan bool
	evicted atomic.Bool
}

func take(b *budget, size int, quit <-chan struct{}) *taker {
	t := &taker{got: make(chan bool, 1)}
	t.size, t.evict = size, func() { t.evicted.Store(true) }
	go func() { t.got <- b.claim(&t.hold, quit) }()
	synctest.Wait()
	return t
}

// has reports whether the taker was given what it asked for, until now.
func (t *taker) has(test *testing.T, want bool) {
	test.Helper()
	synctest.Wait()
	select {
	case got := <-t.got:
		if got != want {
			test.Errorf("given %v, want %v", got, want)
		}
	default:
		test.Error("it still waits")
	}
}

func (t *taker) waits(test *testing.T) {
	test.Helper()
	synctest.Wait()
	if len(t.got) > 0 {
		test.Errorf("given %v, though it should wait", <-t.got)
	}
}

// Memory is given in the order of asking: a small wish doesn't overtake a large one.
func TestBudgetOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &budget{free: 10}
		first := take(b, 6, nil)
		first.has(t, true)
		large, small := take(b, 10, nil), take(b, 1, nil)
		large.waits(t)
		small.waits(t)
		if b.try(&hold{size: 1}) || !b.contended.Load() {
			t.Error("one that doesn't wait overtakes")
		}
		b.release(&first.hold)
		large.has(t, true)
		small.waits(t)
		b.release(&large.hold)
		small.has(t, true)
		b.release(&small.hold)
		if b.free != 10 || len(b.holds) > 0 || b.contended.Load() {
			t.Errorf("%d are free", b.free)
		}
	})
}

// Who is slow is left alone while nobody waits, and evicted when someone does.
func TestBudgetEviction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &budget{free: 10}
		quiet, busy := take(b, 5, nil), take(b, 5, nil)
		take(b, 5, nil)
		for range 3 {
			time.Sleep(stall / 2)
			busy.came.Add(slowest)
		}
		synctest.Wait()
		if !quiet.evicted.Load() || busy.evicted.Load() {
			t.Errorf("after %v without a byte: evicted %v; a quick one: %v", 3*stall/2, quiet.evicted.Load(), busy.evicted.Load())
		}
		b.release(&quiet.hold)
	})
	for name, test := range map[string]struct {
		pace    int64 // bytes each half second
		evicted bool
	}{
		"stalled": {0, true}, "dripping": {1, true}, "slow": {slowest/2 - 1, true}, "quick enough": {slowest / 2, false}, "quick": {1 << 20, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &budget{free: 10}
				holder := take(b, 10, nil)
				holder.has(t, true)
				holder.came.Store(900_000)
				time.Sleep(time.Hour)
				if holder.evicted.Load() {
					t.Error("evicted, though nobody waits")
				}
				holder.since, holder.moved = time.Now(), time.Now()
				holder.had, holder.seen = 900_000, 900_000
				waiter := take(b, 10, nil)
				time.Sleep(patience/2 - time.Millisecond) // between the times when the waiter looks
				for range 5 {
					holder.came.Add(test.pace)
					synctest.Wait()
					if holder.evicted.Load() {
						b.release(&holder.hold)
						break
					}
					time.Sleep(patience / 2)
				}
				waiter.has(t, test.evicted)
				if holder.evicted.Load() != test.evicted {
					t.Errorf("evicted: %v", holder.evicted.Load())
				}
			})
		})
	}
}

// A waiter gives up when it must, and lets those behind it pass.
func TestBudgetAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, quit := &budget{free: 10}, make(chan struct{})
		take(b, 5, nil).has(t, true)
		large, small := take(b, 10, quit), take(b, 5, nil)
		close(quit)
		large.has(t, false)
		small.has(t, true)
		late := take(b, 5, nil)
		time.Sleep(claimWait)
		late.has(t, false)
		if len(b.queue) > 0 || b.contended.Load() {
			t.Error("someone waits")
		}
	})
}

// largeText is the beginning of a request that is larger than 64 KiB.
var largeText = `{"jsonrpc":"2.0","method":"echo","id":1,"params":["` + strings.Repeat("x", 100_000)

// fill begins large messages until there is no memory for another.
func fill(t *testing.T, s *Server, conn *ConnOptions, headers bool) (holders []*client) {
	t.Helper()
	for range largeBudget / DefaultMaxMessage {
		holder := serve(t, s, conn, headers)
		if headers {
			holder.raw(fmt.Sprintf("Content-Length: %d\r\n\r\n", DefaultMaxMessage))
		}
		holder.raw(largeText)
		holders = append(holders, holder)
	}
	synctest.Wait()
	return holders
}

// Large messages that never end give way to those that do, and live on: their connections
// are told, and the next message is read.
func TestLargeMessagesTakeTurns(t *testing.T) {
	forEachFraming(t, func(t *testing.T, headers bool) {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t, Backend{}, nil)
			local := &ConnOptions{Origin: "unix", Caller: LocalCaller}
			c := serve(t, s, local, headers)
			holders := fill(t, s, local, headers)
			c.call(callEcho, `{"jsonrpc":"2.0","result":null,"id":1}`)
			time.Sleep(time.Minute) // nobody is in their way
			began := time.Now()
			var sending sync.WaitGroup
			defer sending.Wait()
			sending.Go(func() { c.send(largeText + `"]}` + strings.Repeat(" ", DefaultMaxMessage/2)) })
			if got, err := c.receive(hang); err != nil || !strings.Contains(got, "xxx") || time.Since(began) > patience {
				t.Errorf("%.100s %v after %v", got, err, time.Since(began))
			}
			for i, holder := range holders {
				if !headers {
					holder.raw("\"]}\n")
				} else {
					holder.raw(strings.Repeat(" ", DefaultMaxMessage-len(largeText)))
				}
				holder.expect(refused(-32003, "null"))
				holder.call(callEcho, `{"jsonrpc":"2.0","result":null,"id":1}`)
				if t.Failed() {
					t.Fatal("holder", i)
				}
			}
			synctest.Wait()
			if s.large.free != largeBudget || s.middle.free != middleBudget {
				t.Errorf("%d and %d bytes are free", s.middle.free, s.large.free)
			}
		})
	})
}

// Where all that hold memory are quick, one more waits a while and is refused then, and
// its connection lives on.
func TestNoRoomForALargeMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Backend{}, nil)
		busy := &hold{size: largeBudget, evict: func() {}}
		if !s.large.try(busy) {
			t.Fatal("the budget is used already")
		}
		c := serve(t, s, nil, false)
		var sending sync.WaitGroup
		sending.Go(func() { c.send(largeText + `"]}`) })
		time.Sleep(claimWait - time.Millisecond)
		synctest.Wait()
		if busy.came.Add(10 << 20); c.in.Buffered() > 0 {
			t.Error("refused too early")
		}
		c.expect(refused(-32003, "null"))
		sending.Wait()
		c.call(callEcho, `{"jsonrpc":"2.0","result":null,"id":1}`)
		s.large.release(busy)
		sending.Go(func() { c.send(largeText + `"]}`) })
		if got, err := c.receive(hang); err != nil || !strings.Contains(got, "xxx") {
			t.Errorf("%.100s %v", got, err)
		}
		sending.Wait()
	})
}

// What begins like an HTTP request and finds no memory ends the connection.
func TestNoRoomForHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Backend{}, nil)
		busy := &hold{size: middleBudget, evict: func() {}}
		if !s.middle.try(busy) {
			t.Fatal("the budget is used already")
		}
		c := serve(t, s, nil, false)
		go func() {
			_, _ = c.conn.Write([]byte("POST /" + strings.Repeat("x", 6000) + " HTTP/1.1\r\n\r\n" + callEcho + "\n"))
		}()
		c.expect(refused(-32003, "null"))
		c.expectClosed()
		s.middle.release(busy)
	})
}

// A message that is begun and left ends its connection on a unix socket too.
func TestUnixMessageDeadline(t *testing.T) {
	s := newServer(t, Backend{}, &Options{MessageTimeout: 50 * time.Millisecond, IdleTimeout: time.Millisecond})
	l := listen(t, s, Endpoint{Scheme: "unix", Address: socketPath(t)})
	c := dial(t, l, false)
	c.call(callEcho, `{"jsonrpc":"2.0","result":null,"id":1}`)
	time.Sleep(100 * time.Millisecond) // idleness is no fault there
	c.call(callEcho, `{"jsonrpc":"2.0","result":null,"id":1}`)
	c.raw(`{"jsonrpc"`)
	c.expect(refused(-32004, "null"))
	c.expectClosed()
}
