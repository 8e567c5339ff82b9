package jsonrpcserver

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/internal/strictjson"
	"github.com/cupule/cupule/registry"
	"github.com/sourcegraph/jsonrpc2"
)

// Handler returns a handler that serves a registry on connections of sourcegraph/jsonrpc2,
// for services that have those already. Every call runs on behalf of inv. Of opts it
// heeds MaxInFlight, which bounds the calls of all connections that share the handler,
// MaxMessage, which bounds parameters, Title, Version and Logger.
//
// What the library decodes before a handler is asked, this can't mend: a batch, invalid
// JSON, and an id that is boolean, fractional or huge close the connection without a
// reply; an id null is taken for a notification, and -1 comes back as another number;
// the member jsonrpc and duplicate keys are not checked, and parameters are decoded and
// encoded again, so that keys come sorted and the last of two equal ones wins; frames
// have no limit, nor have writes a deadline. Server has none of these faults.
func Handler(reg *registry.Registry, inv effects.Invocation, opts *Options) jsonrpc2.Handler {
	o := opts.withDefaults()
	// A Server that serves no connection of its own runs the calls.
	s := &Server{opts: o}
	s.halt = context.Background()
	return &handler{server: s, backend: newBackend(Backend{Registry: reg}), inv: inv, running: map[running]context.CancelFunc{}}
}

type handler struct {
	server  *Server
	backend *backend
	inv     effects.Invocation

	mu      sync.Mutex // guards running
	running map[running]context.CancelFunc
	slots   int
}

// running is one call in flight.
type running struct {
	conn *jsonrpc2.Conn
	id   jsonrpc2.ID
}

// Handle starts a call on a goroutine of its own, if there is a slot for it.
func (h *handler) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	c := &call{method: req.Method, backend: h.backend, inv: h.inv}
	if req.Params != nil {
		c.params, c.token = takeMeta(*req.Params)
	}
	switch {
	case req.Method == methodCancel:
		h.cancel(conn, c.params)
		if !req.Notif {
			h.reply(ctx, conn, req, json.RawMessage("null"), nil)
		}
		return
	case len(c.params) > h.server.opts.MaxMessage:
		h.reply(ctx, conn, req, nil, tooLong(h.server.opts.MaxMessage))
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	if !h.admit(conn, req, cancel) {
		cancel()
		h.reply(ctx, conn, req, nil, overloaded(req.Method, "too many calls in flight"))
		return
	}
	go func() {
		defer h.release(conn, req, cancel)
		result, failure := h.server.invoke(ctx, c, h.progress(ctx, conn, c))
		h.reply(context.WithoutCancel(ctx), conn, req, result, failure)
	}()
}

func (h *handler) admit(conn *jsonrpc2.Conn, req *jsonrpc2.Request, cancel context.CancelFunc) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.slots >= h.server.opts.MaxInFlight {
		return false
	}
	h.slots++
	if !req.Notif {
		h.running[running{conn, req.ID}] = cancel
	}
	return true
}

func (h *handler) release(conn *jsonrpc2.Conn, req *jsonrpc2.Request, cancel context.CancelFunc) {
	cancel()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.slots--
	if !req.Notif {
		delete(h.running, running{conn, req.ID})
	}
}

func (h *handler) cancel(conn *jsonrpc2.Conn, params json.RawMessage) {
	for m := range strictjson.Members(params) {
		var id jsonrpc2.ID
		if string(m.Key) != "id" || json.Unmarshal(m.Value, &id) != nil {
			continue
		}
		h.mu.Lock()
		if cancel := h.running[running{conn, id}]; cancel != nil {
			cancel()
		}
		h.mu.Unlock()
	}
}

// progress returns the function that takes a call's progress, nil where none is wanted.
func (h *handler) progress(ctx context.Context, conn *jsonrpc2.Conn, c *call) func(registry.Progress) {
	if c.token == nil {
		return nil
	}
	return func(p registry.Progress) {
		value := struct {
			Token json.RawMessage   `json:"token"`
			Value registry.Progress `json:"value"`
		}{c.token, p}
		if err := conn.Notify(ctx, methodProgress, value); err != nil {
			h.server.stats.droppedProgress.Add(1)
		}
	}
}

func (h *handler) reply(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request, result json.RawMessage, failure *registry.Error) {
	if req.Notif {
		return
	}
	response := &jsonrpc2.Response{ID: req.ID, Result: &result}
	if failure != nil {
		response.Result, response.Error = nil, wireError(failure)
	}
	if err := conn.SendResponse(ctx, response); err != nil {
		h.server.opts.Logger.LogAttrs(ctx, slog.LevelDebug, "reply failed", slog.String("operation", req.Method), slog.String("error", err.Error()))
	}
}
