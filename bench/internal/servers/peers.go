package servers

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/rpc"
	netjsonrpc "net/rpc/jsonrpc"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
	"github.com/creachadair/jrpc2/handler"
	"github.com/creachadair/jrpc2/jhttp"
	ethrpc "github.com/ethereum/go-ethereum/rpc"
	"github.com/sourcegraph/jsonrpc2"

	"github.com/cupule/cupule/bench/internal/echo"
)

// atOnce is how many calls a peer may run at once, where it has such a bound.
const atOnce = 64

func plainCodec(c net.Conn) jsonrpc2.ObjectStream {
	return jsonrpc2.NewPlainObjectStream(c)
}

func lengthCodec(c net.Conn) jsonrpc2.ObjectStream {
	return jsonrpc2.NewBufferedStream(c, jsonrpc2.VSCodeObjectCodec{})
}

func sourcegraph(codec func(net.Conn) jsonrpc2.ObjectStream) func(net.Conn) {
	return func(conn net.Conn) {
		h := jsonrpc2.AsyncHandler(jsonrpc2.HandlerWithError(func(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
			var p echo.Params
			if err := json.Unmarshal(*r.Params, &p); err != nil {
				return nil, err
			}
			return p, nil
		}))
		<-jsonrpc2.NewConn(context.Background(), codec(conn), h).DisconnectNotify()
	}
}

func creachadairMethods() handler.Map {
	return handler.Map{methodByName: handler.New(func(_ context.Context, p echo.Params) (echo.Params, error) { return p, nil })}
}

func creachadair(conn net.Conn) {
	_ = jrpc2.NewServer(creachadairMethods(), &jrpc2.ServerOptions{Concurrency: atOnce}).Start(channel.Line(conn, conn)).Wait()
}

// serveJHTTP is jrpc2's own bridge from HTTP.
func serveJHTTP(at Place) (func() error, error) {
	bridge := jhttp.NewBridge(creachadairMethods(), &jhttp.BridgeOptions{Server: &jrpc2.ServerOptions{Concurrency: atOnce}})
	stop, err := serveHTTP(at, bridge)
	if err != nil {
		return nil, errors.Join(err, bridge.Close())
	}
	return func() error { return errors.Join(stop(), bridge.Close()) }, nil
}

type ethereumAPI struct{}

// Echo is the method bench_echo.
func (ethereumAPI) Echo(_ context.Context, p echo.Params) (echo.Params, error) { return p, nil }

func newEthereum() (*ethrpc.Server, error) {
	s := ethrpc.NewServer()
	return s, s.RegisterName("bench", ethereumAPI{})
}

// serveEthereumHTTP uses the server as the handler that it is.
func serveEthereumHTTP(at Place) (func() error, error) {
	s, err := newEthereum()
	if err != nil {
		return nil, err
	}
	return serveHTTP(at, s)
}

func serveEthereum(at Place) (func() error, error) {
	s, err := newEthereum()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", at.Address)
	if err != nil {
		return nil, err
	}
	go func() { _ = s.ServeListener(l) }()
	return func() error { s.Stop(); return l.Close() }, nil
}

type netRPC struct{}

// Echo is the method Bench.Echo.
func (netRPC) Echo(p echo.Params, out *echo.Params) error { *out = p; return nil }

func serveNetRPC(at Place) (func() error, error) {
	s := rpc.NewServer()
	if err := s.RegisterName("Bench", netRPC{}); err != nil {
		return nil, err
	}
	return onUnix(func(c net.Conn) { s.ServeCodec(netjsonrpc.NewServerCodec(c)) })(at)
}
