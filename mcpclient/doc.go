// Package mcpclient calls the tools of MCP servers that an operator configured, and no others.
//
// An MCP server is somebody else's program: a child process or a place on the network that may be
// slow, broken or hostile. Whoever calls its tools wants to say once what may be called and
// with which effects, and then have every call decided by that, bounded in time and size, and
// told apart in its failures. The configuration (package config) says it, the effects engine
// (package effects) decides, and this package does the calling:
//
//	cfg, err := config.Load("app.yaml")
//	if err != nil {
//		return err
//	}
//	client, err := mcpclient.New(cfg, nil) // starts nothing
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	args := json.RawMessage(`{"id": "10.1000/182"}`)
//	result, err := client.CallTool(ctx, "research-tools", "resolve_identifier", args, inv)
//	if err != nil {
//		return err // a *registry.Error: its kind, how far the call came, whether it may have run
//	}
//	fmt.Println(result.IsError, string(result.Raw))
//
// # The path of a call
//
// Client.CallTool, Client.Call, Session.CallTool and the handler of a Proxy all take it
// (callTool, in call.go):
//
//	look up         a server or tool that is not configured does not exist
//	decide          the tool and the transport; a denied call starts nothing
//	check           the arguments: one JSON object, no key twice
//	bound           the smallest of the tool's, the caller's and the context's time
//	wait            for a place, where the server has a bound on concurrency, or starts a child
//	get a session   start or connect, within the server's startup; negotiate
//	find the tool   in the server's catalog: there once, and well-formed
//	call            and hold the answer to its limit while it is read
//	give it back    the session ends behind the caller's back; Close waits for it
//
// Resources and prompts take the same path without a look at the catalog. Lists hold what is
// configured, advertised and authorized at once.
//
// # Sessions
//
// A session lasts one operation, unless the server's configuration says otherwise:
// "session: {warm: N}" keeps N children ready, each for one call, and "session: {shared: true}" uses
// one session for all calls. [Client.Connect] gives a long-lived one to hold. A session whose
// server has gone connects again with the next call; no call is ever sent twice.
//
// The newest protocol revision, 2026-07-28, is tried first, for a bounded share of the startup;
// then initialize. What a server spoke is remembered as long as the client lives.
//
// # Results and errors
//
// [Result] has the bytes as the server sent them. Decoding them is up to [Result.Typed].
// A result with IsError is a result. Every error is a *registry.Error:
//
//	method_not_found   not configured
//	denied             with every reason
//	invalid_params     the arguments are no JSON object, or hold a key twice
//	overloaded         too many calls wait for the server
//	timeout            with the limit, and whose it is
//	cancelled          by the caller's context
//	unavailable        the server could not be started or reached, or knows the session no more; nothing ran
//	outcome_unknown    the call was sent, and the server has gone
//	upstream_error     the server broke the protocol, or answered with an error
//	tool_missing       not advertised, advertised twice, or malformed
//	output_too_large   with the limit, and whose it is
//	shutting_down      the client is being closed
//
// Ran says whether the tool may have run. Stderr and Err are for logs.
//
// # Concurrency
//
// Every method may be used from any goroutine. Calls in one session are in flight
// together. Progress is reported on the goroutine of the call; notifications wait in bounded queues
// ([Subscription]) and are dropped and counted when nobody reads them. [Session.SubscribeResource]
// asks for those about a resource. [Client.Close] ends everything and waits for it.
//
// # Limits
//
// Beside timeout, max_output, startup and concurrency of the configuration, the constants of
// this package bound what has no key: catalogs, frames, notifications, discarded bytes, the end of a
// session. A caller is back soon after its deadline whatever the server does.
//
// Over HTTP, TLS is used except to loopback, which is checked on the address that is dialled;
// redirects, cookies, compression and the environment's proxy are not. Only HTTP/1.1 is
// spoken. Configured headers go to the configured URL alone. The stream of a server's own notifications is
// opened again when it ends, after 1 to 30 seconds; an answer's is not.
//
// [Transport] is the bounded child process alone, for a client of the go-sdk or for none.
package mcpclient
