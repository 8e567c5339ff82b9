package jsonrpcserver_test

import (
	"bufio"
	"context"
	"fmt"
	"net"

	"github.com/cupule/cupule/jsonrpcserver"
	"github.com/cupule/cupule/registry"
)

func Example() {
	type numbers struct {
		Minuend    int `json:"minuend"`
		Subtrahend int `json:"subtrahend"`
	}
	reg, err := registry.New([]registry.Operation{
		registry.Typed(registry.Operation{Name: "subtract"}, func(_ context.Context, _ *registry.Call, n numbers) (int, error) {
			return n.Minuend - n.Subtrahend, nil
		}),
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	server, err := jsonrpcserver.New(jsonrpcserver.Backend{Registry: reg}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	client, conn := net.Pipe()
	go func() {
		_ = server.ServeConn(context.Background(), conn, &jsonrpcserver.ConnOptions{Caller: jsonrpcserver.LocalCaller})
	}()
	fmt.Fprintln(client, `{"jsonrpc":"2.0","method":"subtract","params":[42,23],"id":1}`)
	reply, _ := bufio.NewReader(client).ReadString('\n')
	fmt.Print(reply)
	client.Close()
	_ = server.Shutdown(context.Background())
	// Output: {"jsonrpc":"2.0","id":1,"result":19}
}
