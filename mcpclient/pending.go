package mcpclient

import (
	"encoding/json"
	"sync"

	"github.com/cupule/cupule/registry"
)

// answer is what a request came to.
type answer struct {
	result json.RawMessage
	err    error
}

// pending is a request in flight.
type pending struct {
	id       int64
	limit    int
	output   registry.Limit
	place    *place // the request's
	shape    *shape // the request's
	parcel   parcel
	answer   chan answer            // holds one
	progress chan registry.Progress // nil where nobody asked
}

// drain passes on what was reported before the answer came.
func (p *pending) drain(report func(registry.Progress)) {
	for {
		select {
		case r := <-p.progress:
			report(r)
		default:
			return
		}
	}
}

// calls are the requests in flight on one connection. A request is answered by who takes
// it out, so each is answered once.
type calls struct {
	mu     sync.Mutex
	next   int64
	open   map[int64]*pending
	limits map[int]int // how many open requests have this limit
	max    int         // the largest of limits
	dead   func(registry.Ran) *registry.Error
}

func (c *calls) init() {
	c.next = firstID
	c.open = make(map[int64]*pending)
	c.limits = make(map[int]int)
}

func (c *calls) add(r *request) (*pending, error) {
	p := &pending{limit: r.limit, output: r.output, place: r.place, shape: &r.shape, answer: make(chan answer, 1)}
	if r.progress != nil {
		p.progress = make(chan registry.Progress, MaxProgress)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead != nil {
		return nil, c.dead(registry.NotSent)
	}
	p.id = c.next
	c.next++
	c.open[p.id] = p
	c.limits[p.limit]++
	c.max = max(c.max, p.limit)
	return p, nil
}

// take removes a request, or returns nil where it has been removed already.
func (c *calls) take(id int64) *pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.open[id]
	if p == nil {
		return nil
	}
	delete(c.open, id)
	if c.limits[p.limit]--; c.limits[p.limit] == 0 {
		delete(c.limits, p.limit)
		if p.limit == c.max {
			c.max = 0
			for limit := range c.limits {
				c.max = max(c.max, limit)
			}
		}
	}
	return p
}

// find returns a request that stays in flight.
func (c *calls) find(id int64) *pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[id]
}

// frameLimit is how long a frame may be now.
func (c *calls) frameLimit() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.max + FrameOverhead
}

// fail answers every request that is in flight, and each that is added from now on.
func (c *calls) fail(how func(registry.Ran) *registry.Error) {
	c.mu.Lock()
	if c.dead == nil {
		c.dead = how
	}
	open := c.open
	c.open, c.limits, c.max = make(map[int64]*pending), make(map[int]int), 0
	c.mu.Unlock()
	for _, p := range open {
		p.answer <- answer{err: how(p.parcel.ran())}
	}
}
