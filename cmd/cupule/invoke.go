package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/cupule/cupule/registry"
	"github.com/spf13/cobra"
)

// maxInput bounds parameters read from standard input, in bytes.
const maxInput = 64 << 20

func (c *cli) invokeCommand() *cobra.Command {
	var o connection
	cmd := &cobra.Command{
		Use:   "invoke OPERATION [JSON]",
		Short: "Run one call of an operation and print its result",
		Long:  "invoke runs one call of an operation and prints its result. JSON is the parameters, an object or an array;\n- reads them from standard input. With --connect the call goes to a served registry.",
		Args:  words(1, 2), ValidArgsFunction: c.completes(operations),
		RunE: func(cmd *cobra.Command, args []string) error {
			params, err := c.params(args[1:])
			if err != nil {
				return err
			}
			if o.address != "" {
				return c.invokeAt(cmd, o, args[0], params)
			}
			if o.tokenEnv != "" {
				return usagef("--token-env goes with --connect")
			}
			return c.withApp(cmd, func(s *setting) error { return c.invoke(cmd, s, args[0], params) })
		},
	}
	cmd.Flags().StringVar(&o.address, "connect", "", "call a served registry at unix:PATH, tcp:HOST:PORT, tls:HOST:PORT or http(s)://HOST:PORT/rpc")
	cmd.Flags().StringVar(&o.tokenEnv, "token-env", "", "name of the variable that holds this caller's token, with --connect")
	return cmd
}

func (c *cli) invoke(cmd *cobra.Command, s *setting, operation string, params json.RawMessage) error {
	op, known := s.app.Registry().Lookup(operation)
	if !known {
		return s.unknownOperation(operation)
	}
	line := c.progressLine()
	result, err := s.app.Registry().Invoke(cmd.Context(), registry.Request{
		Operation: operation, Params: params, Invocation: s.invocation, Progress: line.show,
	})
	line.clear()
	if err != nil {
		return err
	}
	if err := c.printRaw(result); err != nil {
		return err
	}
	if op.Upstream != nil && saysError(result) {
		return errReported
	}
	return nil
}

// saysError reports whether a tool's result is an error result.
func saysError(result json.RawMessage) bool {
	var r struct {
		IsError bool `json:"isError"`
	}
	return json.Unmarshal(result, &r) == nil && r.IsError
}

// params returns the parameters of the command line: none, a JSON text, or - for
// standard input.
func (c *cli) params(args []string) (json.RawMessage, error) {
	if len(args) == 0 {
		return nil, nil
	}
	text := []byte(args[0])
	if args[0] == "-" {
		var err error
		text, err = io.ReadAll(io.LimitReader(c.in, maxInput+1))
		if err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
		if len(text) > maxInput {
			return nil, usagef("standard input holds more than %d bytes of parameters", maxInput)
		}
	}
	text = bytes.TrimSpace(text)
	if !json.Valid(text) {
		return nil, usagef("the parameters are not valid JSON: write an object such as '{\"text\":\"hello\"}'")
	}
	return text, nil
}
