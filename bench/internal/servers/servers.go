// Package servers holds the JSON-RPC servers that are measured: Cupule, the libraries that
// a user would take instead, and a loop written by hand. Each echoes an object with a text,
// and each decodes it into a Go value and encodes that again.
package servers

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"

	"github.com/cupule/cupule/bench/internal/echo"
	"github.com/cupule/cupule/bench/internal/load"
)

// Server is one contestant.
type Server struct {
	Name    string
	HTTP    bool // at HOST:PORT, path /rpc; otherwise at the path of a unix socket
	GRPC    bool // its client is its own
	Greets  bool // it wants MCP's handshake on each connection
	Framing load.Framing
	Request func(text string) echo.Request
	Verify  func(text string) echo.Verify // nil wants the text as the result's member
	// Serve listens until stop is called.
	Serve func(Place) (stop func() error, err error)
}

// Place is where a contestant serves, and the MCP child behind those that have one.
type Place struct {
	Address string
	Child   string
}

// Names of the contestants that others are compared with.
const (
	Cupule        = "cupule"
	CupuleLength  = "cupule, Content-Length"
	CupuleTyped   = "cupule, typed with schema"
	CupuleHTTP    = "cupule over HTTP"
	Floor         = "hand-written loop"
	FloorGathered = "hand-written loop, replies gathered"
	PlainHTTP     = "net/http, encoding/json"
	Sourcegraph   = "sourcegraph/jsonrpc2"
	SourcegraphCL = "sourcegraph/jsonrpc2, Content-Length"
	Creachadair   = "creachadair/jrpc2"
	Ethereum      = "go-ethereum/rpc"
	NetRPC        = "net/rpc/jsonrpc"
	GRPC          = "grpc-go"
	JHTTP         = "creachadair/jrpc2, jhttp"
	EthereumHTTP  = "go-ethereum/rpc over HTTP"
	methodByName  = "bench.echo"
	methodOfTyped = "bench.typed"
)

// Find returns the server of this name.
func Find(name string) (Server, error) {
	for _, s := range slices.Concat(All(), upstreams(), Gateways()) {
		if s.Name == name {
			return s, nil
		}
	}
	return Server{}, fmt.Errorf("there is no server %q", name)
}

// All returns every contestant of the inbound groups.
func All() []Server {
	named := func(text string) echo.Request { return echo.ByName(methodByName, text) }
	typed := func(text string) echo.Request { return echo.ByName(methodOfTyped, text) }
	placed := func(method string) func(string) echo.Request {
		return func(text string) echo.Request { return echo.ByPosition(method, text) }
	}
	return []Server{
		{Name: Cupule, Request: named, Serve: serveCupule(unixListener)},
		{Name: CupuleLength, Request: named, Framing: load.ContentLength, Serve: serveCupule(unixListener)},
		{Name: CupuleTyped, Request: typed, Serve: serveCupule(unixListener)},
		{Name: Floor, Request: named, Serve: onUnix(handWritten)},
		{Name: FloorGathered, Request: named, Serve: onUnix(handGathered)},
		{Name: Sourcegraph, Request: named, Serve: onUnix(sourcegraph(plainCodec))},
		{Name: SourcegraphCL, Request: named, Framing: load.ContentLength, Serve: onUnix(sourcegraph(lengthCodec))},
		{Name: Creachadair, Request: named, Serve: onUnix(creachadair)},
		{Name: Ethereum, Request: placed("bench_echo"), Serve: serveEthereum},
		{Name: NetRPC, Request: placed("Bench.Echo"), Serve: serveNetRPC},
		{Name: GRPC, GRPC: true, Serve: serveGRPC},
		{Name: CupuleHTTP, HTTP: true, Request: named, Serve: serveCupule(httpListener)},
		{Name: PlainHTTP, HTTP: true, Request: named, Serve: servePlainHTTP},
		{Name: JHTTP, HTTP: true, Request: named, Serve: serveJHTTP},
		{Name: EthereumHTTP, HTTP: true, Request: placed("bench_echo"), Serve: serveEthereumHTTP},
	}
}

// onUnix serves each connection by a function, which returns when the connection ends.
func onUnix(serve func(net.Conn)) func(Place) (func() error, error) {
	return func(at Place) (func() error, error) {
		l, err := net.Listen("unix", at.Address)
		if err != nil {
			return nil, err
		}
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go serve(conn)
			}
		}()
		return l.Close, nil
	}
}

// serveHTTP serves a handler over TCP.
func serveHTTP(at Place, handler http.Handler) (func() error, error) {
	l, err := net.Listen("tcp", at.Address)
	if err != nil {
		return nil, err
	}
	s := &http.Server{Handler: handler}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	return func() error {
		err := s.Close()
		if end := <-ended; !errors.Is(end, http.ErrServerClosed) {
			err = errors.Join(err, end)
		}
		return err
	}, nil
}
