package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/cupule/cupule/config"
	"github.com/spf13/cobra"
)

// addition holds the flags of mcp add.
type addition struct {
	env, headers    []string
	dir, url, token string
	caFile, proxy   string
	startup         float64
	protocol        string
}

func (c *cli) addCommand() *cobra.Command {
	var a addition
	cmd := &cobra.Command{
		Use:   "add SERVER (--url URL | -- COMMAND [ARG...])",
		Short: "Add a server to the configuration file, changing no other byte",
		Long: "add adds a server to the configuration file, which is created if there is none. None of the server's tools\n" +
			"may be called until you allow them, with their effects, under mcp." + "SERVER.allowed.",
		Example: "  cupule mcp add research --env HOME=HOME -- research-tools --index ./papers\n" +
			"  cupule mcp add library --url https://mcp.example.org/mcp --bearer-token-env LIBRARY_TOKEN",
		Args: words(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := ofTransport(cmd, len(args) > 1); err != nil {
				return err
			}
			server, err := a.server(args[1:])
			if err != nil {
				return err
			}
			if err := config.AddServer(c.file, args[0], server); err != nil {
				return usageError{err}
			}
			fmt.Fprintf(c.talk, "%s: added server %s; allow its tools under mcp.%s.allowed\n", c.file, args[0], args[0])
			return nil
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&a.env, "env", nil, "variable of the child and the name of ours to take it from, as in HOME=HOME; repeatable")
	f.StringVar(&a.dir, "dir", "", "folder that the child runs in, relative to the file")
	f.StringVar(&a.url, "url", "", "URL of a server over Streamable HTTP")
	f.StringVar(&a.token, "bearer-token-env", "", "name of the variable that holds the bearer token")
	f.StringArrayVar(&a.headers, "header-env", nil, "header and the name of the variable that holds its value, as in X-Tenant=TENANT; repeatable")
	f.StringVar(&a.caFile, "ca-file", "", "PEM file of the roots to trust")
	f.StringVar(&a.proxy, "proxy-env", "", "name of the variable that holds a proxy's URL")
	f.Float64Var(&a.startup, "startup", 0, "seconds that the server may take to start")
	f.StringVar(&a.protocol, "protocol", "", "protocol revision to speak, such as 2025-11-25")
	return cmd
}

// ofTransport refuses the flags of the transport that the server doesn't use.
func ofTransport(cmd *cobra.Command, child bool) error {
	foreign, goes := []string{"env", "dir"}, "-- and the command of a child process"
	if child {
		foreign, goes = []string{"bearer-token-env", "header-env", "ca-file", "proxy-env"}, "--url"
	}
	for _, flag := range foreign {
		if cmd.Flags().Changed(flag) && (child || cmd.Flags().Changed("url")) {
			return usagef("--%s goes with %s", flag, goes)
		}
	}
	return nil
}

func (a *addition) server(command []string) (*config.Server, error) {
	s := &config.Server{Startup: time.Duration(a.startup * float64(time.Second)), Protocol: a.protocol}
	if (a.url == "") == (len(command) == 0) {
		return nil, usagef("write either --url URL, or -- and the command of a child process")
	}
	if len(command) > 0 {
		env, err := pairs("--env", a.env)
		s.Stdio = &config.Stdio{Command: command[0], Args: command[1:], Dir: a.dir, Env: env}
		return s, err
	}
	headers, err := pairs("--header-env", a.headers)
	s.HTTP = &config.HTTP{URL: a.url, BearerTokenEnv: a.token, HeadersEnv: headers, CAFile: a.caFile, ProxyEnv: a.proxy}
	return s, err
}

func pairs(flag string, list []string) (map[string]string, error) {
	pairs := map[string]string{}
	for _, text := range list {
		key, name, ok := strings.Cut(text, "=")
		if !ok || key == "" || name == "" {
			return nil, usagef("%s: write KEY=NAME, where NAME names an environment variable", flag)
		}
		if _, twice := pairs[key]; twice {
			return nil, usagef("%s: %s stands twice", flag, key)
		}
		pairs[key] = name
	}
	return pairs, nil
}

func (c *cli) removeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove SERVER", Short: "Remove a server from the configuration file, changing no other byte", Args: words(1, 1),
		ValidArgsFunction: c.completes(servers),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := config.RemoveServer(c.file, args[0]); err != nil {
				return usageError{err}
			}
			fmt.Fprintf(c.talk, "%s: removed server %s\n", c.file, args[0])
			return nil
		},
	}
}
