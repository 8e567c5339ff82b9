package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cupule/cupule/registry"
)

// Notification is one notification of a server, as it came.
type Notification struct {
	Method string
	// Params is a JSON object, or nil where the server sent none.
	Params json.RawMessage
}

// Progress returns what a notifications/progress says, and the token of the request that it is
// about as it stands in the message: a JSON string or integer. ok is false for any other notification.
func (n Notification) Progress() (token json.RawMessage, p registry.Progress, ok bool) {
	if n.Method != "notifications/progress" {
		return nil, p, false
	}
	return progressOf(n.Params)
}

// Log returns what a notifications/message says.
func (n Notification) Log() (*mcp.LoggingMessageParams, error) {
	if n.Method != "notifications/message" {
		return nil, fmt.Errorf("a %s is no log message", n.Method)
	}
	p := new(mcp.LoggingMessageParams)
	return p, json.Unmarshal(n.Params, p)
}

// ListChanged returns which list has changed: "tools", "resources" or "prompts"; ok is
// false for any other notification.
func (n Notification) ListChanged() (list string, ok bool) {
	list, ok = strings.CutSuffix(n.Method, "/list_changed")
	if !ok {
		return "", false
	}
	return strings.CutPrefix(list, "notifications/")
}

// ResourceUpdated returns the URI of the resource that has changed; ok is false for any other
// notification. It may lie below one that was subscribed to.
func (n Notification) ResourceUpdated() (uri string, ok bool) {
	if n.Method != "notifications/resources/updated" {
		return "", false
	}
	return text(memberOf(n.Params, "uri"))
}

// ErrSubscriptionEnded says that the session or the subscription was closed.
var ErrSubscriptionEnded = errors.New("the subscription has ended")

// Subscription is a bounded queue of notifications. When it is full, new ones are dropped and counted.
type Subscription struct {
	notes *notes

	mu      sync.Mutex
	queue   []Notification
	bytes   int
	dropped int
	ended   bool
	wake    chan struct{} // holds one
}

// Next returns the next notification. It waits while ctx lasts; when the session has ended and
// the queue is empty, it returns ErrSubscriptionEnded.
func (s *Subscription) Next(ctx context.Context) (Notification, error) {
	for {
		n, ok, ended := s.pop()
		switch {
		case ok:
			return n, nil
		case ended:
			return Notification{}, ErrSubscriptionEnded
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return Notification{}, context.Cause(ctx)
		}
	}
}

// All returns the notifications until ctx or the session ends.
func (s *Subscription) All(ctx context.Context) iter.Seq[Notification] {
	return func(yield func(Notification) bool) {
		for {
			n, err := s.Next(ctx)
			if err != nil || !yield(n) {
				return
			}
		}
	}
}

// Dropped returns how many notifications did not fit.
func (s *Subscription) Dropped() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

// Close ends the subscription. What is queued can still be read.
func (s *Subscription) Close() {
	s.notes.remove(s)
	s.end()
}

func (s *Subscription) pop() (n Notification, ok, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return n, false, s.ended
	}
	n = s.queue[0]
	s.queue[0] = Notification{}
	s.queue = s.queue[1:]
	s.bytes -= len(n.Params)
	return n, true, s.ended
}

func (s *Subscription) push(n Notification) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || len(s.queue) >= MaxQueued || s.bytes+len(n.Params) > MaxQueuedBytes {
		s.dropped++
		return
	}
	s.queue = append(s.queue, n)
	s.bytes += len(n.Params)
	s.signal()
}

func (s *Subscription) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped++
}

func (s *Subscription) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.signal()
}

func (s *Subscription) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// notes hands the notifications of a session to its subscriptions. A nil notes drops them.
type notes struct {
	mu           sync.Mutex
	list         []*Subscription
	ended        bool
	changed      func(list string)            // told of changed lists; may be nil
	acknowledged func(params json.RawMessage) // told of what the server agrees to tell of; may be nil
}

func (n *notes) subscribe() *Subscription {
	s := &Subscription{notes: n, wake: make(chan struct{}, 1)}
	n.mu.Lock()
	defer n.mu.Unlock()
	s.ended = n.ended
	n.list = append(n.list, s)
	return s
}

func (n *notes) remove(s *Subscription) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, other := range n.list {
		if other == s {
			n.list = append(n.list[:i:i], n.list[i+1:]...)
			return
		}
	}
}

// subscribed returns the subscriptions as they are now; the slice is not changed later.
func (n *notes) subscribed() []*Subscription {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.list[:len(n.list):len(n.list)]
}

// deliver takes a notification whose params are not the callee's to keep.
func (n *notes) deliver(method string, params json.RawMessage) {
	switch {
	case n == nil:
		return
	case method == "notifications/subscriptions/acknowledged":
		if n.acknowledged != nil {
			n.acknowledged(params)
		}
		return
	}
	if list, ok := (Notification{Method: method}).ListChanged(); ok && n.changed != nil {
		n.changed(list)
	}
	subs := n.subscribed()
	if len(subs) == 0 {
		return
	}
	note := Notification{Method: method, Params: bytes.Clone(params)}
	for _, s := range subs {
		s.push(note)
	}
}

// drop counts a notification that was too large to be read.
func (n *notes) drop() {
	for _, s := range n.subscribed() {
		s.drop()
	}
}

// close ends every subscription.
func (n *notes) close() {
	n.mu.Lock()
	n.ended = true
	n.mu.Unlock()
	for _, s := range n.subscribed() {
		s.end()
	}
}
