package cupule

import (
	"context"
	"maps"
	"os"
	"slices"

	"github.com/cupule/cupule/jsonrpcserver"
)

// backend is what the server serves of a generation, and to whom.
func (a *App) backend(g *generation) jsonrpcserver.Backend {
	b := jsonrpcserver.Backend{Registry: g.registry}
	for _, name := range slices.Sorted(maps.Keys(g.config.Callers)) {
		caller := g.config.Callers[name]
		c := jsonrpcserver.Caller{Name: name, Authority: caller.Authority("")}
		if caller.TokenEnv != "" {
			c.Token = func() (string, bool) { return a.lookupEnv(caller.TokenEnv) }
		}
		b.Callers = append(b.Callers, c)
	}
	return b
}

func (a *App) lookupEnv(name string) (string, bool) {
	if a.opts.LookupEnv == nil {
		return os.LookupEnv(name)
	}
	return a.opts.LookupEnv(name)
}

func (a *App) Serve(ctx context.Context) error { return nil }
