package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/cupule/cupule/jsonrpcserver"
	"github.com/cupule/cupule/registry"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/spf13/cobra"
)

// connection holds the flags with which invoke calls a registry that is served elsewhere.
type connection struct {
	address  string
	tokenEnv string
}

// Bounds on a call to a served registry.
const (
	maxReply   = registry.LargestMaxOutput + 1<<20 // bytes of one message from a peer
	dialWait   = 10 * time.Second
	defaultFor = 15 * time.Minute // for a call without --timeout
	lastWords  = time.Second      // for what a server said before it closed
	// The client library reads the id null as 0, so ids begin at 1.
	authenticateID, callID = 1, 2
	// redacted is what stands where a server repeats the token.
	redacted = "[redacted]"
)

// token returns the token that --token-env names.
func (c *cli) token(o connection) (string, error) {
	if o.tokenEnv == "" {
		return "", nil
	}
	token, set := c.lookupEnv(o.tokenEnv)
	if !set || token == "" {
		return "", usagef("--token-env: the variable %s is not set", o.tokenEnv)
	}
	if strings.ContainsFunc(token, unicode.IsControl) {
		return "", usagef("--token-env: the variable %s holds a line break or another control character, which no token has", o.tokenEnv)
	}
	return token, nil
}

// invokeAt calls an operation of a served registry.
func (c *cli) invokeAt(cmd *cobra.Command, o connection, operation string, params json.RawMessage) error {
	for _, flag := range []string{"offline", "authorize", "caller", "max-output"} {
		if cmd.Flags().Changed(flag) {
			return usagef("--%s has no meaning with --connect: the serving side decides what this caller may do", flag)
		}
	}
	token, err := c.token(o)
	if err != nil {
		return err
	}
	wait := seconds(c.timeout)
	if wait <= 0 {
		wait = defaultFor
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), wait)
	defer cancel()
	line := c.progressLine()
	result, err := c.dispatch(ctx, o.address, token, operation, params, line)
	line.clear()
	if err != nil {
		return remote(ctx, operation, withoutToken(err, token))
	}
	if err := c.printRaw(result); err != nil {
		return err
	}
	if saysError(result) {
		return errReported
	}
	return nil
}

func (c *cli) dispatch(ctx context.Context, address, token, operation string, params json.RawMessage, line *progressLine) (json.RawMessage, error) {
	scheme, rest, _ := strings.Cut(address, ":")
	scheme = strings.ToLower(scheme)
	switch scheme {
	case "http", "https":
		return postCall(ctx, address, token, operation, params)
	case "unix", "tcp", "tls":
		rest = strings.TrimPrefix(rest, "//")
		if _, _, err := net.SplitHostPort(rest); err != nil && scheme != "unix" {
			return nil, usagef("--connect %s: write %s:HOST:PORT", address, scheme)
		}
		return streamCall(ctx, scheme, rest, token, operation, params, line)
	}
	return nil, usagef("--connect %s: write unix:PATH, tcp:HOST:PORT, tls:HOST:PORT, http://HOST:PORT/rpc or https://...", address)
}

// streamCall makes one call on a connection of its own.
func streamCall(ctx context.Context, network, address, token, operation string, params json.RawMessage, line *progressLine) (json.RawMessage, error) {
	conn, err := dialStream(ctx, network, address)
	if err != nil {
		return nil, &registry.Error{Kind: registry.KindUnavailable, Message: "no connection to " + address, Ran: registry.NotSent, Err: err}
	}
	stream := newStrictStream(conn, maxReply)
	// The connection outlives ctx, so that the server can be told that the call is cancelled.
	client := jsonrpc2.NewConn(context.WithoutCancel(ctx), stream, progressHandler{line}, jsonrpc2.SetLogger(log.New(io.Discard, "", 0)))
	defer client.Close()
	if token != "" {
		if err := callOn(ctx, client, "rpc.authenticate", map[string]string{"token": token}, nil, jsonrpc2.PickID(jsonrpc2.ID{Num: authenticateID})); err != nil {
			return nil, unauthenticated(ctx, stream.reason(err))
		}
	}
	opts := []jsonrpc2.CallOption{jsonrpc2.PickID(jsonrpc2.ID{Num: callID})}
	if line.to != nil {
		opts = append(opts, jsonrpc2.Meta(map[string]int{"progressToken": callID}))
	}
	var result json.RawMessage
	err = callOn(ctx, client, operation, rawOrNothing(params), &result, opts...)
	if ctx.Err() != nil {
		notice, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		err = errors.Join(err, client.Notify(notice, "$/cancelRequest", map[string]int{"id": callID}))
	}
	return result, stream.reason(err)
}

// unauthenticated is the error of a call that wasn't made, since rpc.authenticate failed.
func unauthenticated(ctx context.Context, err error) error {
	if _, answered := errors.AsType[*jsonrpc2.Error](err); answered {
		return err
	}
	return &registry.Error{Kind: endOr(ctx, registry.KindUnavailable), Message: "no answer to rpc.authenticate came", Ran: registry.NotSent, Err: err}
}

// callOn makes a call. A server that refuses a connection and closes it may have done so
// before the call could be written: then what it said is on its way, and is waited for.
func callOn(ctx context.Context, client *jsonrpc2.Conn, method string, params, result any, opts ...jsonrpc2.CallOption) error {
	err := client.Call(ctx, method, params, result, opts...)
	if _, answered := errors.AsType[*jsonrpc2.Error](err); err == nil || answered {
		return err
	}
	select {
	case <-ctx.Done():
	case <-client.DisconnectNotify():
	case <-time.After(lastWords):
	}
	return err
}

// strictStream ends with a response that isn't JSON-RPC 2.0 to the letter: what the client
// library would make of it is a guess. Of notifications only those that are well made matter.
type strictStream struct {
	jsonrpc2.ObjectStream
	limit int64             // bytes of a message
	left  *io.LimitedReader // what this one may still bring; the reader's own
	// refused is why no answer comes: the error with id null that a server answers what it
	// can't read with, or a message that is too large.
	refused atomic.Pointer[error]
}

func newStrictStream(conn io.ReadWriteCloser, limit int64) *strictStream {
	left := &io.LimitedReader{R: conn}
	return &strictStream{limit: limit, left: left, ObjectStream: jsonrpc2.NewPlainObjectStream(struct {
		io.Reader
		io.WriteCloser
	}{left, conn})}
}

// ReadObject reads the next message.
func (s *strictStream) ReadObject(v any) error {
	var raw json.RawMessage
	s.left.N = s.limit
	if err := s.ObjectStream.ReadObject(&raw); err != nil {
		if s.left.N <= 0 {
			err = replyTooLarge()
			s.refused.Store(&err)
		}
		return err
	}
	message, err := jsonrpcserver.Parse(raw)
	var notification struct{ Method *string }
	switch {
	case err != nil && (json.Unmarshal(raw, &notification) != nil || notification.Method == nil):
		return err
	case err == nil && message.Error != nil && message.ID.IsNull():
		err = message.Error
		s.refused.Store(&err)
		return err
	}
	return json.Unmarshal(raw, v)
}

// reason returns why a call failed: because of what came without an id, or with err.
func (s *strictStream) reason(err error) error {
	if refused := s.refused.Load(); err != nil && refused != nil {
		return *refused
	}
	return err
}

func replyTooLarge() error {
	return &registry.Error{Kind: registry.KindOutputTooLarge, Ran: registry.Sent, Message: "the reply is too large",
		Limit: &registry.Limit{Name: "reply", Whose: "client", Bytes: maxReply}}
}

// withoutToken masks the token where a server repeats it in an error.
func withoutToken(err error, token string) error {
	wire, answered := errors.AsType[*jsonrpc2.Error](err)
	if !answered || token == "" {
		return err
	}
	masked, hide := *wire, hiding(token)
	masked.Message = hide.Replace(wire.Message)
	if wire.Data != nil {
		data := json.RawMessage(hide.Replace(string(*wire.Data)))
		masked.Data = &data
	}
	return &masked
}

// hiding replaces a token, as it is and as it stands in JSON.
func hiding(token string) *strings.Replacer {
	quoted, _ := json.Marshal(token) // no string fails
	return strings.NewReplacer(token, redacted, string(quoted[1:len(quoted)-1]), redacted)
}

func dialStream(ctx context.Context, network, address string) (net.Conn, error) {
	d := &net.Dialer{Timeout: dialWait}
	if network == "tls" {
		return (&tls.Dialer{NetDialer: d}).DialContext(ctx, "tcp", address)
	}
	return d.DialContext(ctx, network, address)
}

// rawOrNothing keeps absent parameters absent.
func rawOrNothing(params json.RawMessage) any {
	if params == nil {
		return nil
	}
	return params
}

// progressHandler shows the progress that the server tells of.
type progressHandler struct{ line *progressLine }

func (h progressHandler) Handle(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) {
	if req.Method != "$/progress" || req.Params == nil {
		return
	}
	var p struct {
		Value registry.Progress `json:"value"`
	}
	if json.Unmarshal(*req.Params, &p) == nil {
		h.line.show(p.Value)
	}
}

func unanswered(ctx context.Context, operation string, err error) error {
	if _, known := errors.AsType[*registry.Error](err); known {
		return err
	}
	if _, usage := errors.AsType[usageError](err); usage {
		return err
	}
	return &registry.Error{Kind: endOr(ctx, registry.KindOutcomeUnknown), Operation: operation, Ran: registry.Sent, Message: "no answer came", Err: err}
}

// endOr returns the kind of how ctx ended, or another while it hasn't.
func endOr(ctx context.Context, other registry.Kind) registry.Kind {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return registry.KindTimeout
	case ctx.Err() != nil:
		return registry.KindCancelled
	}
	return other
}
