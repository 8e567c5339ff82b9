// Package interop holds tests against peers that nobody of this project wrote: MCP servers
// outbound, JSON-RPC and OpenRPC clients inbound. They come from npm, each pinned exactly in
// package.json and package-lock.json.
//
// The tests run where the variable CUPULE_INTEROP names the folder that holds their
// node_modules, and are skipped elsewhere. The script run installs them into a temporary
// folder, runs the tests, and prints what was called over which transport:
//
//	./interop/run            # all of it
//	./interop/run -v         # with the conversations
//	./interop/run -run Env   # any flag of go test
//
// It needs Go, a C compiler for the race detector, and Node.js with npm.
//
// Outbound, the public API of mcpclient drives @modelcontextprotocol/server-everything over
// stdio and over Streamable HTTP. Where a test needs to know what the server saw, the test
// binary stands between the two as a tee that writes down every line, or a reverse proxy
// does. Inbound, scripts of a few lines let vscode-jsonrpc, jayson and
// @open-rpc/test-coverage call what the built command serves. Nothing in this folder is
// part of the product.
//
// After each test no process, goroutine or descriptor may be left that was not there
// before. Tests run one after the other; each has a guard against hanging.
package interop
