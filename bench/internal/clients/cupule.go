package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cupule/cupule/bench/internal/mcpraw"
	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/mcpclient"
)

// alias is the server's name in the configuration.
const alias = "bench"

// Settings of a server.
const (
	shared = "session: {shared: true}"
	warm   = "session: {warm: 2}"
	pinned = `protocol: "` + mcpraw.Protocol + `"`
)

// Configuration declares both tools of a target. The setting is a line of YAML of the
// server's own; empty leaves it at its defaults, which mean one operation for each session.
func Configuration(t Target, setting string) string {
	way := fmt.Sprintf("stdio: {command: %q, args: [], env: {}}", t.Child)
	if t.URL != "" {
		way = fmt.Sprintf("http: {url: %q}", t.URL)
	}
	return fmt.Sprintf(`mcp:
  %s:
    %s
    %s
    allowed:
      echo: {effects: [network_read, mutation], timeout: 30}
      big: {effects: [network_read], timeout: 60, max_output: 64MiB}
`, alias, way, setting)
}

// SharedConfiguration is Configuration for calls that share one session.
func SharedConfiguration(t Target) string { return Configuration(t, shared) }

// invocation is the authority of every call: the tools need some.
func invocation() effects.Invocation {
	return effects.NewInvocation(effects.Authority{Principal: "bench", Authorized: effects.NewSet(effects.Mutation)})
}

func newCupule(t Target, setting string) (*mcpclient.Client, error) {
	cfg, err := config.Parse("bench.yaml", []byte(Configuration(t, setting)))
	if err != nil {
		return nil, err
	}
	return mcpclient.New(cfg, nil)
}

// callCupule calls through the client, which keeps sessions as its configuration says.
func callCupule(setting string) opener {
	return func(t Target) (func() error, func() error, error) {
		c, err := newCupule(t, setting)
		if err != nil {
			return nil, nil, err
		}
		call, err := cupuleCall(t, rawResult, func(tool string, args json.RawMessage) (*mcpclient.Result, error) {
			return c.CallTool(context.Background(), alias, tool, args, invocation())
		})
		return call, c.Close, err
	}
}

// judge verifies a result.
type judge func(t Target, want string) func(*mcpclient.Result) error

func rawResult(_ Target, want string) func(*mcpclient.Result) error {
	c := &rawCheck{want: want}
	return func(r *mcpclient.Result) error { return c.check(r.Raw) }
}

func typedResult(_ Target, want string) func(*mcpclient.Result) error {
	return func(r *mcpclient.Result) error {
		typed, err := r.Typed()
		if err != nil {
			return err
		}
		return checkSDK(typed, want)
	}
}

func cupuleCall(t Target, how judge, call func(string, json.RawMessage) (*mcpclient.Result, error)) (func() error, error) {
	name, args, want := t.tool()
	verify := how(t, want)
	return func() error {
		raw, err := json.Marshal(args)
		if err != nil {
			return err
		}
		r, err := call(name, raw)
		if err != nil {
			return err
		}
		return verify(r)
	}, nil
}

// openCupule calls in a session of its own, which lasts.
func openCupule(setting string, how judge) opener {
	return func(t Target) (func() error, func() error, error) {
		c, err := newCupule(t, setting)
		if err != nil {
			return nil, nil, err
		}
		s, err := c.Connect(context.Background(), alias, invocation())
		if err != nil {
			return nil, nil, errors.Join(err, c.Close())
		}
		call, err := cupuleCall(t, how, func(tool string, args json.RawMessage) (*mcpclient.Result, error) {
			return s.CallTool(context.Background(), tool, args, invocation())
		})
		return call, func() error { return errors.Join(s.Close(), c.Close()) }, err
	}
}
