// Command embed is the program of the README.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/cupule/cupule"
	"github.com/cupule/cupule/mcpclient"
	"github.com/cupule/cupule/registry"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	app, err := cupule.Open(ctx, "app.yaml", &cupule.Options{
		Operations: func(client *mcpclient.Client) ([]registry.Operation, error) {
			return []registry.Operation{
				registry.Typed(registry.Operation{Name: "text.count"}, count),
			}, nil
		},
	})
	if err != nil {
		log.Fatal(err) // every problem of the file, each with its line and column
	}
	defer app.Close()
	if err := app.Serve(ctx); err != nil {
		log.Print(err)
	}
}

func count(ctx context.Context, call *registry.Call, text struct{ Text string }) (int, error) {
	return len(strings.Fields(text.Text)), nil
}
