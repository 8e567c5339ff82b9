package main

// Titles of tables that bars name, too. Those that end with a space go on with a place.
const (
	titleEngine      = "One call of the engine"
	titleInbound     = "Echo of 200 bytes over a unix socket"
	titleInboundHTTP = "Echo of 200 bytes over HTTP"
	titleLasting     = "tools/call echo of 200 bytes, one session, "
	titleOneCall     = "A session for each call, "
	titlePaced       = "Latency of a call now and then, "
	trivialChild     = "the trivial child"
)

func titleLarge(size, place string) string { return "Results of " + size + ", 1 caller, " + place }

// What a reader must know of each table.
const (
	noteEngine = "In this process, one goroutine. The caller holds authority for `mutation` and a list of operations, the operation " +
		"declares `network_read` and `mutation`, and every call is observed. The typed helper checks its derived schema, decodes " +
		"strictly and encodes. Below it the same function stands with `json.Unmarshal` and `json.Marshal` around it and nothing else, and then " +
		"called directly with a Go value, as code does that needs no call by name."
	noteGrowth = "A call here has parameters of 12 bytes, in the table above of over 200, which are read to check them. Names are asked for in random order. Rows take turns, and garbage is collected before each sample. `rpc.discover` is asked by a caller who may use every " +
		"operation; the reply is the whole document, and its client runs in this process too. Start-up is " +
		"`OpenConfig` from a configuration in memory until it could serve, and its end. Compiling the schemas is what the two rows " +
		"of start-up differ in."
	notePayload = "As above. All callers share one connection. Of a megabyte there are 4 of them at most: beyond 4 MiB of requests in flight " +
		"on one connection Cupule refuses more by its defaults."
	noteInbound = "Every server runs in a process of its own, and allocations are that process's alone. One raw client drives them all: " +
		"frames encoded beforehand, each caller with one call in flight, all callers on one connection, replies matched by their id and " +
		"compared with one that was decoded and verified. Every handler decodes the parameters into a Go value and encodes it again. " +
		"Cupule runs with everything on: a caller with authority, a list of operations, timeout and output limit; effects to decide on; a " +
		"deadline and an event for each call, which an observer counts. Hand-written loops are two: one that writes each reply by itself, " +
		"and one that writes when nothing more has been read. All times hold the raw client's own, on the same cores. " +
		"grpc-go stands here for reference: it brings its own client and its own encoding."
	noteInboundHTTP = "Each caller has a connection of its own, kept alive. The plain handler reads the body and does " +
		"encoding/json both ways. Cupule's caller is the anonymous one, with the same authority as above: no token is compared. The other " +
		"servers above have no HTTP of their own. jhttp is jrpc2's bridge from HTTP, and go-ethereum's server is a handler itself."
	notePayloadHTTP = "As above, each caller on a connection of its own. Cupule reads a body into memory of its announced length, for which " +
		"there is a budget that all connections share; the plain handler reads it with io.ReadAll. Of a megabyte there are 4 callers at most, as over a unix socket."
	noteOutbound = "Each client runs in a process of its own with a child of its own, and allocations are that process's alone. The " +
		"hand-written client has no deadlines, no limits and no checks. The clients of go-sdk and mcp-go return decoded results and have no " +
		"raw ones; the row \"typed result\" is what compares with them like for like, and the bars are of the raw one."
	noteOutboundSDK = "With this child most of the time is the child's, and the protocol decides how much: Cupule, go-sdk and mcp-go speak the newest " +
		"revision with it, the hand-written client an older one, which this child answers faster. So one row has Cupule pinned to that revision."
	noteOneCall = "Start, handshake, list of tools, one call, end. All of it is done for every call; over HTTP a connection takes the place of the child. " +
		"Cupule returns the result and ends the child behind the caller's back, on the second core here, while the hand-written client and both libraries wait for " +
		"the end; the row \"ended behind\" is the hand-written client without that wait, which compares with Cupule like for like."
	notePaced = "Calls one by one with a pause of 25 ms before each, so that a spare is ready; each call is timed alone. A call after a " +
		"pause finds cold caches and a sleeping child, for which reason the sessions that last stand here once more. The pause hides the end of Cupule's child, which begins once the result is there, and in the row \"ended behind\" that of the hand-written client's alike. Over HTTP there is nothing to start, and so no spare."
	noteLarge = "Each client and each size has processes of its own. Throughput counts bytes of text; peak memory is of the client's " +
		"process, its program included. go-sdk reads through a transport without its own bound of 16 MiB on a line."
	noteWhole = "The same raw client everywhere: directly on the child's standard input and output, and on a unix socket to a gateway " +
		"before it. \"Added\" is what the gateway adds to the direct call; \"allocated\" is the gateway's."
)
