package mcpclient

import (
	"context"
	"encoding/json"

	"github.com/cupule/cupule/registry"
)

// request is one request to a server, before it has an id.
type request struct {
	method string
	// params appends the members of the parameters, without braces and without _meta; nil for none.
	params func(dst []byte) []byte
	// limit bounds the result in bytes, and output says whose limit that is.
	limit  int
	output registry.Limit
	// place is claimed for an answer of more than largeList bytes; nil where it needs none.
	place *place
	// progress is told of progress, on the goroutine of the request; nil asks for none.
	progress func(registry.Progress)
	// name is what HTTP names in its header beside the method, and headers are those that the
	// tool's schema asks for.
	name    string
	headers []header
	// shape is that of the result, once it has come.
	shape shape
}

// cancellable reports whether the server is told that the request was given up. The protocol
// forbids it for the handshake, and a session that fails the probe ends anyway.
func (r *request) cancellable() bool {
	return r.method != "initialize" && r.method != "server/discover"
}

type header struct{ name, value string }

// peer is a conversation with one server, whatever carries it. Its errors are *registry.Error.
type peer interface {
	// do sends a request and waits for its result, which is the caller's to keep.
	do(ctx context.Context, r *request) (json.RawMessage, error)
	// notify sends a notification. Params is a JSON object, or empty.
	notify(ctx context.Context, method, params string) error
	// adopt says what has been agreed; requests from now on follow it.
	adopt(a *agreement)
	// alive says whether the conversation can go on.
	alive() bool
	// over is closed when the conversation has ended.
	over() <-chan struct{}
	// interrupt fails what is in flight, and all that follows, with an error like e.
	interrupt(e *registry.Error)
	// close ends the conversation, within CloseBudget, or at once.
	close(now bool)
	// evidence returns what a person needs to find out why it failed.
	evidence() evidence
}

// evidence is what is known about a failed conversation, for logs.
type evidence struct {
	stderr string
	// strays describes the lines that were no messages.
	strays string
}

// appendRequest appends a request as one line, without its end.
func (a *agreement) appendRequest(dst []byte, id int64, r *request) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = appendInt(dst, id)
	dst = append(dst, `,"method":"`...)
	dst = append(dst, r.method...)
	dst = append(dst, `","params":{`...)
	start := len(dst)
	if r.params != nil {
		dst = r.params(dst)
	}
	dst = a.appendMeta(dst, len(dst) > start, id, r.progress != nil)
	return append(dst, "}}"...)
}

// appendMeta appends the _meta that the protocol or a progress token asks for.
func (a *agreement) appendMeta(dst []byte, comma bool, id int64, progress bool) []byte {
	if !a.modern && !progress {
		return dst
	}
	if comma {
		dst = append(dst, ',')
	}
	dst = append(dst, `"_meta":{`...)
	if a.modern {
		dst = append(dst, a.meta...)
	}
	if progress {
		if a.modern {
			dst = append(dst, ',')
		}
		dst = append(dst, `"progressToken":`...)
		dst = appendInt(dst, id)
	}
	return append(dst, '}')
}

// appendNotification appends a notification as one line, without its end.
func appendNotification(dst []byte, method, params string) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":"`...)
	dst = append(dst, method...)
	dst = append(dst, '"')
	if params != "" {
		dst = append(append(dst, `,"params":`...), params...)
	}
	return append(dst, '}')
}

// appendReply appends the answer to a server's request: a refusal, or an empty result for ping.
func (a *agreement) appendReply(dst []byte, id []byte, method string) []byte {
	dst = append(append(dst, `{"jsonrpc":"2.0","id":`...), id...)
	if method == "ping" && !a.modern {
		return append(dst, `,"result":{}}`...)
	}
	dst = append(dst, `,"error":{"code":-32601,"message":`...)
	dst = appendText(dst, "this client answers no "+method[:min(len(method), 64)])
	return append(dst, "}}"...)
}
