package cupule

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/jsonrpcserver"
)

// Serve serves the operations on every listener that the file declares, or on standard
// input and output where it declares none. It returns when ctx ends, or when standard
// input does: accepting stops, what runs may finish within the grace, and the rest is
// cancelled. Only one Serve runs at a time.
//
// A caller whose token is missing, empty or another's is an error here, a *config.Error.
func (a *App) Serve(ctx context.Context) error {
	server, err := a.beginServing()
	if err != nil {
		return err
	}
	defer a.endServing()
	listeners, stdio, addresses, err := a.listen(ctx, server)
	if err != nil {
		return err
	}
	if a.opts.Listening != nil {
		a.opts.Listening(addresses)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 2)
	running := 0
	if len(listeners) > 0 {
		running++
		go func() { ended <- server.Serve(ctx, listeners...) }()
	}
	if stdio {
		running++
		go func() { ended <- server.ServeStdio(ctx, a.in(), a.out()) }()
	}
	// The end of one, such as that of standard input, ends the other.
	for range running {
		err = errors.Join(err, <-ended)
		cancel()
	}
	return err
}

func (a *App) beginServing() (*jsonrpcserver.Server, error) {
	var opts jsonrpcserver.Options
	if a.opts.Server != nil {
		opts = *a.opts.Server
	}
	opts.Title, opts.Version = a.opts.Name, a.opts.Version
	opts.Logger, opts.Grace = a.opts.Logger, a.opts.Grace
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, ErrClosed
	}
	if a.server != nil {
		return nil, errors.New("cupule: the application is being served already")
	}
	if err := a.current.config.CheckTokens(a.opts.LookupEnv); err != nil {
		return nil, err
	}
	server, err := jsonrpcserver.New(a.backend(a.current), &opts)
	a.server = server
	return server, err
}

func (a *App) endServing() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.server, a.serving, a.certificates = nil, nil, nil
}

// listen opens every listener, or none.
func (a *App) listen(ctx context.Context, server *jsonrpcserver.Server) (open []*jsonrpcserver.Listener, stdio bool, addresses []string, err error) {
	cfg := a.Config()
	loaded, err := cfg.LoadCertificates()
	if err != nil {
		return nil, false, nil, err
	}
	declared := cfg.Serve.Listen
	if len(declared) == 0 {
		declared = []config.Listener{{Scheme: "stdio", Address: "stdio"}}
	}
	certificates := a.present(cfg.Serve.Listen, loaded)
	for i, d := range declared {
		if d.Scheme == "stdio" {
			stdio = true
			addresses = append(addresses, d.Address)
			continue
		}
		e := endpoint(d)
		if d.Certificate != "" {
			e.TLS = &tls.Config{GetCertificate: certificates[i].present}
		}
		l, err := server.Listen(ctx, e)
		if err != nil {
			for _, opened := range open {
				err = errors.Join(err, opened.Close())
			}
			return nil, false, nil, err
		}
		open = append(open, l)
		addresses = append(addresses, served(d, l.Addr().String()))
	}
	return open, stdio, addresses, nil
}

func endpoint(d config.Listener) jsonrpcserver.Endpoint {
	return jsonrpcserver.Endpoint{
		Scheme: d.Scheme, Address: d.Host, Path: d.Path,
		Anonymous: d.Anonymous, BehindProxy: d.BehindProxy, Hosts: d.Hosts, Origins: d.Origins,
	}
}

// served returns the address with what listening filled in, such as the port.
func served(d config.Listener, actual string) string {
	if d.Scheme == "unix" {
		return "unix:" + actual
	}
	return d.Scheme + "://" + actual + d.Path
}

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

func (a *App) in() io.Reader {
	if a.opts.In == nil {
		return os.Stdin
	}
	return a.opts.In
}

func (a *App) out() io.Writer {
	if a.opts.Out == nil {
		return os.Stdout
	}
	return a.opts.Out
}

func (a *App) lookupEnv(name string) (string, bool) {
	if a.opts.LookupEnv == nil {
		return os.LookupEnv(name)
	}
	return a.opts.LookupEnv(name)
}
