package mcpclient

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/internal/strictjson"
	"github.com/cupule/cupule/registry"
)

// SubscribeResource asks the server to tell when a resource changes. Notifications whose
// ResourceUpdated is its URI then reach every Subscription. It is decided like ReadResource, and goes
// on when the session connects again. The error, if any, is a *registry.Error.
func (s *Session) SubscribeResource(ctx context.Context, uri string, inv effects.Invocation) error {
	return s.aboutResource(ctx, uri, inv, func(o *op) error {
		if err := s.reserve(uri); err != nil {
			return err
		}
		err := o.run(ctx, s.lend, func(ctx context.Context, l *link) error {
			if !l.agreed.can("resources", "subscribe") {
				return failure(registry.KindUpstreamError, registry.NotSent, "the server does not tell of changed resources: it declares no resources.subscribe")
			}
			o.phase = phaseCall
			if err := l.subscribe(ctx, uri); err != nil {
				return err
			}
			return s.confirm(l, uri)
		})
		if err != nil {
			s.release(uri)
		}
		return err
	})
}

// UnsubscribeResource ends what SubscribeResource began. It is decided like ReadResource, and does
// nothing for a resource that isn't subscribed to. The error, if any, is a *registry.Error.
func (s *Session) UnsubscribeResource(ctx context.Context, uri string, inv effects.Invocation) error {
	return s.aboutResource(ctx, uri, inv, func(o *op) error {
		if !s.forgo(uri) || s.live() == nil {
			return nil
		}
		return o.run(ctx, s.lend, func(ctx context.Context, l *link) error {
			o.phase = phaseCall
			return l.unsubscribe(ctx, uri)
		})
	})
}

// aboutResource is the path of a call about a resource that has no result.
func (s *Session) aboutResource(ctx context.Context, uri string, inv effects.Invocation, do func(*op) error) (err error) {
	o := s.client.begin(effects.Resource, s.server.Alias, uri, inv)
	defer func() { _, err = finish(ctx, o, new(struct{}), err) }()
	if err := o.judge(); err != nil {
		return err
	}
	return do(o)
}

// reserve makes room for a resource among those that are subscribed to.
func (s *Session) reserve(uri string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.resources[uri]; known {
		return nil
	}
	if len(s.resources) >= MaxSubscribed {
		l := registry.Limit{Name: "subscribed resources", Whose: "the client", Count: MaxSubscribed}
		return limited(failure(registry.KindOverloaded, registry.NotSent, "the session has reached the %s: unsubscribe from others first", l), l)
	}
	if s.resources == nil {
		s.resources = map[string]bool{}
	}
	s.resources[uri] = false
	return nil
}

// release gives up the room of a resource whose subscription has failed.
func (s *Session) release(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.resources[uri] {
		delete(s.resources, uri)
	}
}

// confirm notes that a resource is subscribed to, so that later conversations do so too. One
// that has begun meanwhile didn't know of it.
func (s *Session) confirm(l *link, uri string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != l {
		return failure(registry.KindUnavailable, registry.Completed, "the server has gone")
	}
	s.resources[uri] = true
	return nil
}

// forgo reports whether a resource was subscribed to, and forgets it.
func (s *Session) forgo(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.resources[uri]
	delete(s.resources, uri)
	return known
}

// subscribed returns the resources that are subscribed to. The caller holds the mutex.
func (s *Session) subscribed() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.resources)), func(uri string) bool { return !s.resources[uri] })
}

func (s *Session) wants(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resources[uri]
}

// renew subscribes a new conversation to what the session was subscribed to, one after another.
func (s *Session) renew(l *link, uris []string) {
	for _, uri := range uris {
		if !s.wants(uri) || !l.alive() {
			continue
		}
		ctx, cancel := withTimeout(context.Background(), s.server.Startup, "startup", "server "+s.server.Alias)
		err := l.subscribe(ctx, uri)
		if err == nil && !s.wants(uri) {
			err = l.unsubscribe(ctx, uri)
		}
		cancel()
		if err != nil {
			s.client.log.Warn("a resource could not be subscribed to again", "server", s.server.Alias, "resource", clip(uri), "error", err)
		}
	}
}

// subscribe asks for news of a resource: by a request of its own before the newest protocol, and
// by a stream of its own there, so that the others go on when one ends.
func (l *link) subscribe(ctx context.Context, uri string) error {
	if l.agreed.modern {
		return l.watch(ctx, uri)
	}
	_, err := l.do(ctx, aboutURI("resources/subscribe", uri))
	return err
}

func (l *link) unsubscribe(ctx context.Context, uri string) error {
	if l.agreed.modern {
		l.unwatch(uri)
		return nil
	}
	_, err := l.do(ctx, aboutURI("resources/unsubscribe", uri))
	return err
}

func aboutURI(method, uri string) *request {
	return control(method, func(dst []byte) []byte { return appendText(append(dst, `"uri":`...), uri) })
}

// watch is a stream of the newest protocol that tells of one resource.
type watch struct {
	cancel context.CancelFunc
	acked  chan struct{} // closed by who sets heard
	heard  bool          // the server has acknowledged it; guarded by the link's mutex
	done   chan struct{}
	err    error // set before done is closed; nil where the server ended it
}

// watch returns when the server has acknowledged the stream.
func (l *link) watch(ctx context.Context, uri string) error {
	w := l.watchOf(uri)
	select {
	case <-w.acked:
		return nil
	case <-w.done:
		if w.err != nil {
			return w.err
		}
		return failure(registry.KindUpstreamError, registry.Completed, "the server does not tell of changes of this resource")
	case <-ctx.Done():
		w.cancel()
		return ended(ctx, registry.Sent)
	}
}

// watchOf returns the stream for a resource, which it opens where there is none.
func (l *link) watchOf(uri string) *watch {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.watches[uri]; w != nil {
		return w
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &watch{cancel: cancel, acked: make(chan struct{}), done: make(chan struct{})}
	if l.watches == nil {
		l.watches = map[string]*watch{}
	}
	l.watches[uri] = w
	l.server.client.background(func() {
		defer close(w.done)
		defer cancel()
		w.err = l.again(ctx, func() (bool, error) {
			err := l.listenFor(ctx, func(dst []byte) []byte {
				return append(appendText(append(dst, `"resourceSubscriptions":[`...), uri), ']')
			})
			return mayReopen(err) && l.heard(w), err
		})
		l.drop(uri, w)
	})
	return w
}

// heard reports whether the server has acknowledged a stream.
func (l *link) heard(w *watch) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return w.heard
}

func (l *link) drop(uri string, w *watch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watches[uri] == w {
		delete(l.watches, uri)
	}
}

func (l *link) unwatch(uri string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.watches[uri]; w != nil {
		w.cancel()
		delete(l.watches, uri)
	}
}

// acknowledge takes what the server has agreed to tell of.
func (l *link) acknowledge(params json.RawMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for raw := range strictjson.Elements(memberOf(memberOf(params, "notifications"), "resourceSubscriptions")) {
		uri, _ := text(raw)
		if w := l.watches[uri]; w != nil && !w.heard {
			w.heard = true
			close(w.acked)
		}
	}
}
