package servers

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/cupule/cupule/bench/internal/echo"
	"github.com/cupule/cupule/bench/internal/load"
	"github.com/cupule/cupule/bench/internal/measure"
)

const (
	grpcService = "bench.Echo"
	grpcMethod  = "Echo"
	grpcMost    = 4 << 20 // bytes of a message
)

// serveGRPC has one unary method without generated code.
func serveGRPC(at Place) (func() error, error) {
	l, err := net.Listen("unix", at.Address)
	if err != nil {
		return nil, err
	}
	s := grpc.NewServer(grpc.MaxRecvMsgSize(grpcMost))
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: grpcService, HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: grpcMethod, Handler: grpcEcho}},
	}, struct{}{})
	go func() { _ = s.Serve(l) }()
	return func() error { s.Stop(); return nil }, nil
}

func grpcEcho(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	in := new(wrapperspb.StringValue)
	if err := decode(in); err != nil {
		return nil, err
	}
	return wrapperspb.String(in.Value), nil
}

// GRPCClient is gRPC's own client, since the raw one doesn't speak HTTP/2.
type GRPCClient struct {
	conn *grpc.ClientConn
	text string
}

// DialGRPC connects to the server at a unix socket.
func DialGRPC(address, text string) (*GRPCClient, error) {
	conn, err := grpc.NewClient("unix:"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(grpcMost)))
	return &GRPCClient{conn: conn, text: text}, err
}

// Run makes the calls of a load.
func (c *GRPCClient) Run(of measure.Load) (time.Duration, error) {
	guard := time.AfterFunc(load.Patience, func() { _ = c.conn.Close() })
	took, err := measure.Calls(of, func(int) error {
		var out wrapperspb.StringValue
		if err := c.conn.Invoke(context.Background(), "/"+grpcService+"/"+grpcMethod, wrapperspb.String(c.text), &out); err != nil {
			return err
		}
		return echo.Same(out.Value, c.text, nil)
	})
	if !guard.Stop() && err != nil {
		err = load.ErrSilent
	}
	return took, err
}

// Close ends the connection.
func (c *GRPCClient) Close() error { return c.conn.Close() }
