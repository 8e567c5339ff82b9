package mcpclient

import (
	"context"
	"sync"
	"time"

	"github.com/cupule/cupule/registry"
)

// pool holds sessions that are started, negotiated and have their catalog read. Each is used
// for one call. The first call fills it; a spare that died or waited too long is replaced.
type pool struct {
	server *server
	size   int
	idle   time.Duration

	mu       sync.Mutex
	spares   []*spare
	starting int
	replaced time.Time // when a spare that died was last replaced at once
	closed   bool
}

// spare is a session that waits for its call.
type spare struct {
	link  *link
	taken chan struct{} // closed when it leaves the pool
}

// respawnPause is how often at most spares that died are replaced at once. After more deaths
// than that the next call fills the pool, so that a server that always dies isn't started for ever.
const respawnPause = 10 * time.Second

func newPool(s *server) *pool {
	p := &pool{server: s, size: s.Session.Warm, idle: s.Session.Idle}
	if p.idle <= 0 {
		p.idle = DefaultIdle
	}
	return p
}

// lend is the source of calls: a spare, or where there is none, a session started for the call.
func (p *pool) lend(ctx context.Context, o *op) (*link, func(), error) {
	l := p.take()
	if l == nil {
		p.fill()
		return p.server.fresh(ctx, o)
	}
	o.spare, l.once = true, true
	over := p.fillSoon()
	return l, func() {
		p.server.discard(l.peer, false)
		close(over)
	}, nil
}

// refillPause is how long a call that took a spare may run before the next one is started:
// starting it beside the call would slow that down, and a long call must not keep the pool short.
const refillPause = 30 * time.Millisecond

// fillSoon fills the pool when the channel that it returns is closed, or after refillPause.
func (p *pool) fillSoon() (over chan struct{}) {
	over = make(chan struct{})
	p.server.client.background(func() {
		timer := time.NewTimer(refillPause)
		defer timer.Stop()
		select {
		case <-over:
		case <-timer.C:
		}
		p.fill()
	})
	return over
}

// take removes the oldest spare that lives.
func (p *pool) take() *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.spares) > 0 {
		s := p.spares[0]
		p.spares = p.spares[1:]
		close(s.taken)
		if s.link.alive() {
			return s.link
		}
		p.server.discard(s.link.peer, false)
	}
	return nil
}

// fill starts as many spares as are missing. Only a call in flight, or a goroutine of the pool, may
// do this.
func (p *pool) fill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.closed && len(p.spares)+p.starting < p.size {
		p.starting++
		p.server.client.background(p.start)
	}
}

// start makes one spare and watches over it. A failure is left to the next call to meet.
func (p *pool) start() {
	l, err := p.open()
	p.mu.Lock()
	p.starting--
	if err == nil && p.closed {
		p.server.discard(l.peer, false)
		err = errShuttingDown
	}
	if err != nil {
		p.mu.Unlock()
		p.server.client.log.Warn("a warm session could not be started", "server", p.server.Alias, "error", err)
		return
	}
	s := &spare{link: l, taken: make(chan struct{})}
	p.spares = append(p.spares, s)
	p.mu.Unlock()
	p.watch(s)
}

func (p *pool) open() (*link, error) {
	s := p.server
	l, err := s.open(context.Background(), s.effects(), nil, func(string) {})
	if err != nil {
		return nil, err
	}
	ctx, cancel := withTimeout(context.Background(), s.Startup, "startup", "server "+s.Alias)
	defer cancel()
	if _, _, err := l.catalog(ctx); err != nil {
		e := attach(asError(err), l.peer)
		s.discard(l.peer, true)
		return nil, e
	}
	return l, nil
}

// watch waits until a spare is taken, dies or has waited too long.
func (p *pool) watch(s *spare) {
	timer := time.NewTimer(p.idle)
	defer timer.Stop()
	died := false
	select {
	case <-s.taken:
		return
	case <-s.link.over():
		died = true
	case <-timer.C:
	}
	if !p.remove(s) {
		return
	}
	p.server.discard(s.link.peer, false)
	if !died || p.mayReplace() {
		p.fill()
	}
}

func (p *pool) mayReplace() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if !p.replaced.IsZero() && now.Sub(p.replaced) < respawnPause {
		return false
	}
	p.replaced = now
	return true
}

// remove takes a spare out, unless somebody has taken it already.
func (p *pool) remove(s *spare) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.spares {
		if other == s {
			p.spares = append(p.spares[:i:i], p.spares[i+1:]...)
			close(s.taken)
			return true
		}
	}
	return false
}

// close ends every spare.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, s := range p.spares {
		close(s.taken)
		p.server.discard(s.link.peer, false)
	}
	p.spares = nil
}

// renewable reports whether a call that failed in a spare can be made in a session of its own:
// the spare had died, and the call never left.
func renewable(err error) bool {
	if err == nil {
		return false
	}
	e := asError(err)
	return e.Kind == registry.KindUnavailable && e.Ran == registry.NotSent
}
