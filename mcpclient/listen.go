package mcpclient

import (
	"context"
	"errors"
	"time"

	"github.com/cupule/cupule/registry"
)

// listen receives what the server says outside calls, until the conversation ends: over a
// child's pipe that comes by itself, over HTTP in a stream that has to be asked for, and in the newest
// protocol changed lists have to be subscribed to.
func (l *link) listen() {
	ctx := context.Background()
	if l.agreed.modern {
		if lists := l.lists(); lists != "" {
			_ = l.again(ctx, func() (bool, error) {
				err := l.listenFor(ctx, func(dst []byte) []byte { return append(dst, lists...) })
				return mayReopen(err), err
			})
		}
		return
	}
	if p, ok := l.peer.(*httpPeer); ok {
		p.listen(ctx)
	}
}

// again listens until ctx or the conversation ends, or listen says that it can't be listened again,
// with bounded pauses. It returns the last error.
func (l *link) again(ctx context.Context, listen func() (again bool, err error)) error {
	for next := minPause; ; {
		began := time.Now()
		again, err := listen()
		if !again || ctx.Err() != nil || !l.alive() {
			return err
		}
		if time.Since(began) >= maxPause {
			next = minPause
		}
		wait := next
		if e, ok := errors.AsType[*registry.Error](err); ok {
			wait = min(max(wait, e.RetryAfter), maxPause)
		}
		next = min(2*next, maxPause)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-l.over():
		}
		timer.Stop()
	}
}

// mayReopen reports whether a stream of the newest protocol that has ended, nil where its server
// ended it, may be asked for again: whatever its server refused isn't.
func mayReopen(err error) bool {
	e, ok := errors.AsType[*registry.Error](err)
	if !ok {
		return err == nil
	}
	if status, ok := errors.AsType[*statusError](err); ok {
		return mayPass(status.code)
	}
	switch e.Kind {
	case registry.KindUnavailable, registry.KindOutcomeUnknown:
		return true
	}
	return false
}

// listenFor asks for notifications in a stream of the newest protocol, until that ends.
func (l *link) listenFor(ctx context.Context, filter func(dst []byte) []byte) error {
	r := control("subscriptions/listen", func(dst []byte) []byte {
		return append(filter(append(dst, `"notifications":{`...)), '}')
	})
	r.limit = FrameOverhead
	_, err := l.do(ctx, r)
	return err
}

// lists names the lists whose changes the server tells of.
func (l *link) lists() string {
	text := ""
	add := func(able bool, name string) {
		if able && text != "" {
			text += ","
		}
		if able {
			text += `"` + name + `":true`
		}
	}
	add(l.agreed.can("tools", "listChanged"), "toolsListChanged")
	add(l.agreed.can("prompts", "listChanged"), "promptsListChanged")
	add(l.agreed.can("resources", "listChanged"), "resourcesListChanged")
	return text
}
