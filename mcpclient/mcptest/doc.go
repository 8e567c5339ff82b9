// Package mcptest makes MCP servers for tests: good ones, broken ones and hostile ones.
//
// Code that calls tools over a network or a pipe is tested easily against a server
// that works, and fails in production against one that doesn't: that is silent, floods,
// crashes, answers with another id, or never ends a line. A [Script] is such a server, as plain data.
// It runs as a child process or over HTTP, counts what it got, and is written without any
// library for MCP, so that it can do anything to the wire.
//
//	func TestMain(m *testing.M) {
//		mcptest.Main() // a child is this test binary, started again
//		os.Exit(m.Run())
//	}
//
//	func TestSearchGivesUp(t *testing.T) {
//		script := mcptest.Good().With(mcptest.Fault{At: mcptest.CallTool, Do: mcptest.Silent})
//		script.Record = filepath.Join(t.TempDir(), "record")
//		path, args := script.Command() // what to configure as command and arguments
//		if err := search(path, args); !isTimeout(err) {
//			t.Errorf("got %v", err)
//		}
//		record, _ := mcptest.ReadRecord(script.Record)
//		if n := record.Count("tools/call"); n > 1 {
//			t.Errorf("the tool was called %d times", n)
//		}
//	}
//
// Over HTTP it is script.HTTP(t), with the URL to configure and the record in memory.
//
// # The path of a message
//
// What comes in is recorded first. Then the server makes the answer that a good server of the
// client's generation would give (2026-07-28 by the metadata of each request, or
// initialize and older versions); it refuses what isn't in order, such as a call before the
// handshake, so that a test sees the mistakes of its client. Then each [Fault] of this [Step] has its
// way, in the order of the script: it sends something before the answer, changes the answer, or
// takes its place. The behaviours are the constants of type [Behaviour].
//
// # Concurrency
//
// A request with a fault or a delay holds up no other. A server may be used by any number of clients over
// HTTP; faults are counted over all of them. A child has one client.
//
// # Limits
//
// A child ends itself after [Lifetime]. An HTTP server ends with its test, whatever it is at. The
// huge answers are written piece by piece and held nowhere. Behaviours that need signals or
// process groups do less on Windows.
package mcptest
