package main

import (
	"slices"

	"github.com/cupule/cupule/bench/internal/clients"
	"github.com/cupule/cupule/bench/internal/servers"
)

// profiled is the commit whose programs the figures of the reasons are of, and its day.
const profiled = "2020cbf of 2026-12-02"

// reasons says why Cupule needs more, where somebody found out. Of several that cover one
// gap the first one counts. A text that a change makes wrong has to change with it.
func reasons() []reason {
	return slices.Concat(engineReasons(), inboundReasons(), sessionReasons(), outboundReasons(), wholeReasons())
}

func engineReasons() []reason {
	return []reason{
		{"a call by name", "a call in Go checks nothing. `Invoke` finds the operation, decides on effects and limits, checks that parameters and result " +
			"are strict JSON (22% of its time), reads the clock for the deadline and the event (20%), and allocates the call that the " +
			"handler gets and the deadline (16%).",
			[]gap{{row: rowTyped, other: rowTypedBare}}},
		{"the typed helper", "beyond decoding and encoding, which both do, it makes the call by name, checks the parameters against the schema that it derives " +
			"(8% of its time) and their strictness, and refuses unknown members while decoding.",
			[]gap{{row: rowTyped, other: rowTypedPlain}}},
	}
}

func inboundReasons() []reason {
	return []reason{
		{"no JSON", "grpc-go copies a string where JSON is scanned, checked, unescaped and escaped again, and each of these is a copy to allocate: the larger the message, the more of a call with one caller that is. " +
			"With a megabyte, encoding/json in the handler alone is two thirds of the time of Cupule's server, and strict checking another tenth. No server of JSON comes near grpc-go there.",
			[]gap{{other: servers.GRPC}}},
		{"typed operations", "parameters are checked against a schema before they are decoded strictly: a call of the engine takes about two fifths more processor time " +
			"than without. The hand-written loop knows no schema.",
			[]gap{{table: "inbound", row: servers.CupuleTyped, quantity: quantityTime}, {table: "payload", row: servers.CupuleTyped, quantity: quantityTime}}},
		{"headers of a message", "Content-Length has a header to read and to write for each message, two allocations more, where the line has one byte to look for.",
			[]gap{{table: "inbound", row: servers.CupuleLength, quantity: quantityTime}, {table: "payload", row: servers.CupuleLength, quantity: quantityTime}}},
		{"limits and authority", "of the processor time of server and client, system calls are 38% with one caller and 33% with 64, for all alike, and the call of the engine with the " +
			"handler's decoding and encoding in it 28% and 37%: a decision on effects, a deadline, an event and strict JSON, which loops and net/rpc do without. " +
			"What that costs Cupule wins back by reading an envelope without reflection and writing replies together that are ready together. The second loop does the latter, too, " +
			"and stays ahead by that cost where many requests come at once; with one caller there is nothing to gather.",
			[]gap{{table: "inbound", row: "cupule*", quantity: quantityTime}, {table: "payload*", row: "cupule*", quantity: quantityTime}}},
		{"a plain handler", "Cupule's handler runs on the same net/http as the plain one. Beyond that it checks Host, Origin, content type and caller, bounds body and time, " +
			"and makes the call of the engine.",
			[]gap{{table: "inbound-http", quantity: quantityTime}}},
		{"memory of a call", "in one call of 200 bytes Cupule allocates its own record of it (350 bytes), a copy of the message, so that others can be read while it runs (the message's size), " +
			"the call that the handler gets (240), and its deadline (100). The loop and net/rpc work on one call at a time in one buffer, or know no deadline.",
			[]gap{{table: "inbound*", quantity: quantityAllocated}, {table: "inbound*", quantity: quantityAllocations}}},
		{"copies of a large message", "a megabyte exists as the buffer that it is read into, the copy that the call keeps, the handler's decoded string and the encoded result, each a quarter of what is " +
			"allocated. The hand-written loop and net/rpc keep the first of these from call to call, and net/rpc the last one too. Cupule gives large buffers back, " +
			"so that an idle connection holds none.",
			[]gap{{table: "payload*", quantity: quantityAllocated}, {table: "payload*", quantity: quantityAllocations}}},
		{"copies alive at once", "the same copies: with a megabyte up to 17 MiB are alive in one process with the client, 12 with the hand-written loop, and 26 over HTTP where a plain handler has 13. " +
			"Go's collector lets a heap grow to twice that before it looks again.",
			[]gap{{table: "payload*", row: "cupule*", quantity: quantityPeak}}},
	}
}

func sessionReasons() []reason {
	once := []string{clients.CupuleOneCall, clients.CupuleWarm, servers.CupuleDefault}
	lasting := []string{clients.Floor, servers.SDKProxy, direct}
	var places []gap
	for _, row := range once {
		for _, other := range lasting {
			places = append(places, gap{row: row, other: other})
		}
	}
	return []reason{
		{"a session for each call", "a process is started, shaken hands with, asked for its tools and ended, or the same requests are made over HTTP, all for one call; the other side did so once. It takes milliseconds, " +
			"whoever does it (see the tables of sessions of one call). A warm spare moves the start out of the call, but its child is new, and " +
			"answers its first call; `session: {shared: true}` starts it once.", places},
		{"memory of a session", "of the allocations of a session of one call 41% start the child (pipes, process, descriptors), 10% negotiate the protocol, 9% read and keep the list of tools, " +
			"8% are deadlines of each step. The hand-written client has no deadlines, keeps no list, and asks nobody what it speaks.",
			atChildren(quantityAllocations, clients.CupuleOneCall, clients.CupuleWarm)},
		{"starting a child", "a session of one call takes 0.2 ms of processor time more than the hand-written client's, over half of it for starting the child, mostly to keep from it what other " +
			"descriptors the program has open. Then it asks for server/discover, which the trivial child doesn't know, before it shakes hands: one request more.",
			atChildren(quantityTime, clients.CupuleOneCall, clients.CupuleWarm)},
	}
}

// atHTTP is what a row allocates where each session has a connection of its own.
func atHTTP(row string) []gap {
	var list []gap
	for _, table := range []string{"onecall-http*", "paced-http*"} {
		for _, q := range []string{quantityAllocations, quantityAllocated, quantityPeak} {
			list = append(list, gap{table: table, row: row, quantity: q})
		}
	}
	return list
}

// atChildren is a quantity of these rows where each has a child of its own.
func atChildren(quantity string, rows ...string) []gap {
	var list []gap
	for _, table := range []string{"onecall", "onecall-gosdk", "paced", "paced-gosdk"} {
		for _, row := range rows {
			list = append(list, gap{table: table, row: row, quantity: quantity})
		}
	}
	return list
}

func outboundReasons() []reason {
	return []reason{
		{"typed results", "go-sdk's types decode them, on demand only. What the row takes beyond that of raw results, which stands beside it, is decoding, and collecting the garbage of that. " +
			"Each decoder takes a buffer of 32 KiB, 90% of what is allocated. mcp-go decodes with encoding/json, the hand-written client " +
			"looks at raw results.",
			[]gap{{row: clients.CupuleTyped}}},
		{"the newer protocol", "Cupule, go-sdk and mcp-go speak the newest revision with servers built on go-sdk, the hand-written client an older one, which these answer faster: " +
			"the child's own processor time is 260 us a call instead of 195. The row with the protocol of the hand-written client shows the rest.",
			[]gap{{table: "outbound-gosdk", row: clients.Cupule, quantity: quantityTime}, {table: "outbound-http-gosdk", row: clients.Cupule, quantity: quantityTime},
				{table: "paced-gosdk", row: clients.Cupule, quantity: quantityTime}}},
		{"two processes on two cores", "with the older protocol Cupule's process needs about 5 us more processor time a call than the hand-written client (37 us instead of 32 with 64 callers, 83 instead of 78 with one), " +
			"for deadline, decision, event and strict reading. The child needs 188 to 213 us of it with either, and competes for the same cores: so the difference " +
			"is small and moves from run to run.",
			[]gap{{table: "outbound-gosdk", row: clients.CupulePinned, quantity: quantityTime}}},
		{"HTTP connections", "in front of each connection is a gate, which bounds what is read, with a buffer of 64 KiB; it looks at each byte of a header and each chunk before package http does. " +
			"The rest are contexts with deadlines, 15% of what a call allocates, and reading an answer under limits.",
			[]gap{{table: "outbound-http*", row: "cupule*"}, {table: "paced-http*", row: clients.Cupule},
				{table: "large 256 KiB-http", row: clients.Cupule, quantity: quantityAllocations}, {table: "large 4 MiB-http", row: clients.Cupule, quantity: quantityAllocations},
				{table: "large 32 MiB-http", row: clients.Cupule, quantity: quantityAllocations}}},
		{"asking what a server speaks", "a session begins with server/discover, which the trivial server doesn't know: that makes five requests, where the hand-written client makes four since it was told what to speak. " +
			"A server built on go-sdk knows it, and three requests do; but it answers each of the newest revision more slowly (see \"the newer protocol\").",
			[]gap{{table: "onecall-http*", row: clients.CupuleOneCall, quantity: quantityTime}, {table: "paced-http*", row: clients.CupuleOneCall, quantity: quantityTime}}},
		{"a connection of one's own", "over HTTP each session of one call opens a connection, as the others do too; Cupule's has a gate in front with a buffer of 64 KiB, most of what it allocates.",
			atHTTP(clients.CupuleOneCall)},
		{"pieces of a line", "a line of 32 MiB is gathered in pieces of 64 KiB from a pool, which the collector empties between two such calls, and joined once its length is known. " +
			"So the memory held grows with what has come, and not by doubling.",
			[]gap{{table: "large 32 MiB", row: clients.Cupule, quantity: quantityAllocations}, {table: "large 32 MiB", row: clients.Cupule, quantity: quantityAllocated}}},
		{"a deadline for each call", "whatever its size, a call over stdio allocates a context with its timer (about 470 bytes), and records of the call and of who waits for its reply (700); " +
			"the result is copied out of the buffer that it came in. From a few hundred KiB on there are pieces of 64 KiB that no pool has, too. " +
			"The hand-written client waits forever, and keeps what encoding/json copied.",
			[]gap{{table: "outbound*", row: "cupule*", other: clients.Floor, quantity: quantityAllocated}, {table: "outbound*", row: "cupule*", other: clients.Floor, quantity: quantityAllocations},
				{table: "paced*", row: clients.Cupule, other: clients.Floor, quantity: quantityAllocated}, {table: "paced*", row: clients.Cupule, other: clients.Floor, quantity: quantityAllocations},
				{table: "large*", row: clients.Cupule, other: clients.Floor, quantity: quantityAllocations}}},
		{"waking each other", "in processor time the two clients need about the same with the trivial child (27 us a call, the hand-written client 33, with one caller; 8 and 8 with 64). What differs is when client and child " +
			"wake each other, and that moves from run to run.",
			[]gap{{table: "outbound", row: "cupule*", other: clients.Floor, quantity: quantityTime}, {table: "paced", row: clients.Cupule, other: clients.Floor, quantity: quantityTime}}},
		{"large results in memory", "up to four times the size of a result is alive: the pieces that it has come in, the result joined from them, the one before it, and the one that the benchmark compares with. " +
			"Go's collector lets a heap grow to twice that, 258 MiB with 32 MiB. mcp-go has three times the size alive at most, and collects three times as often.",
			[]gap{{table: "large*", row: clients.Cupule, quantity: quantityPeak}}},
	}
}

func wholeReasons() []reason {
	return []reason{
		{"a gateway in between", "each call passes one process more, on its way there and back. With one caller most of what that adds is processes waking each other. With more the cores are busy, and it is the " +
			"processor time of one call of a server and of one of a client (see the tables of both), and of three processes taking turns where two do without a gateway.",
			[]gap{{table: "whole", row: servers.CupuleGateway, other: direct}}},
	}
}
