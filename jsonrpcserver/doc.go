// Package jsonrpcserver serves a registry's operations over JSON-RPC 2.0: on stdio, unix
// sockets, TCP and HTTP, to peers that may be broken, slow or hostile.
//
//	backend := jsonrpcserver.Backend{
//		Registry: reg,
//		Callers: []jsonrpcserver.Caller{{
//			Name:      "dashboard",
//			Token:     func() (string, bool) { return os.LookupEnv("DASHBOARD_TOKEN") },
//			Authority: effects.Authority{Authorized: effects.NewSet(effects.Inference)},
//		}},
//	}
//	server, err := jsonrpcserver.New(backend, nil)
//	if err != nil {
//		return err
//	}
//	listener, err := server.Listen(ctx, jsonrpcserver.Endpoint{Scheme: "http", Address: "127.0.0.1:8321"})
//	if err != nil {
//		return err
//	}
//	return server.Serve(ctx, listener) // until ctx ends; then it drains
//
// # The path of a request
//
// On a stream (a socket or stdio) one goroutine, the reader, cuts messages out of what
// arrives, in newline or Content-Length framing as the first byte shows. It takes each
// apart in one pass and judges it: wrong bytes are -32700, a wrong envelope is -32600 with
// the id if that is valid. A request that finds a slot runs on a goroutine of its own, or
// on the reader's while its operation has been quick lately, with another reader taking
// over when it isn't. [registry.Registry.Invoke] looks up, decides, checks parameters and
// calls. The reply goes into the connection's outbox, from which one goroutine at a time
// writes, whatever has gathered at once. Over HTTP the request's own goroutine does all of it.
//
// Besides the operations there are rpc.discover, which returns an OpenRPC document of what
// this caller may use; $/cancelRequest {id}, for calls of the same connection; and
// rpc.authenticate {"token"} on streams. Messages shaped like responses are ignored. A
// request with meta.progressToken, or _meta.progressToken in named parameters, is sent
// $/progress {token, value} notifications, in order and before its reply.
//
// # Who calls
//
// A peer on stdio or on a unix socket, which is open to its owner alone, is the caller
// named "local"; a peer without token on a listener that is anonymous is the caller named
// "anonymous". Where the backend declares no such caller, it holds no authority. On TCP,
// unix and stdio the first request may be rpc.authenticate; a wrong token may be
// corrected twice, then the connection is closed; once a request was served, or a token
// taken, another attempt is refused, unless that token has become nobody's; as a
// notification or inside a batch it has no effect. Until then a TCP peer is told "unauthenticated", whatever it asks. Over HTTP the token
// is a bearer header. A token that is empty, or that callers share, is nobody's.
// Nothing else that a peer sends changes its authority.
//
// # Limits
//
// Everything a peer can make grow has a limit in [Options], with a constant for its
// default: bytes of a message, messages of a batch and bytes of its replies, calls in
// flight and bytes of their requests on a connection, calls of all connections,
// connections (those on unix sockets apart, so that a crowd from elsewhere keeps nobody
// off them). Messages that are being read share a few MiB, beyond the 5 KiB that each
// connection has: where that is used up others wait for a moment, the slow give way, and
// who doesn't get any is told "overloaded", and so is a connection beyond the limit (over
// HTTP with status 503; over TLS, which costs a handshake, 16 at a time are, and more
// closed without a word). Before it is known who speaks a message has at most 4 KiB. A
// call holds its slot until its reply is about to be written, so a peer that doesn't read
// can't pile up results; excess requests are answered "overloaded", excess notifications
// dropped and counted, and where 4 MiB of replies wait, so does reading. A peer that takes
// no byte within the write deadline is dropped and its calls cancelled. There are
// deadlines for each message except on stdio, and on TCP and HTTP for idle connections and
// for the token.
//
// The end of input means no more requests: what runs is finished and answered. A reset
// or a failed write cancels. A message that is too long is answered and skipped; where the
// begin of the next message is lost, the connection is answered once and closed.
//
// # Concurrency
//
// A [Server] and what it returns may be used from any goroutine. [Server.Swap] replaces
// what is served, while calls that run keep what they began with. [Server.Shutdown] stops
// accepting, answers new requests "shutting_down", lets running calls finish within the
// grace, cancels the rest, and returns when every goroutine has ended.
//
// [Handler] serves a registry on connections of sourcegraph/jsonrpc2, for services that
// have those; its documentation says what is lost there. [Message], [ID] and [Parse]
// are for clients, and build for wasip1.
package jsonrpcserver
