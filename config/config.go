package config

import (
	"encoding/json"
	"time"

	"github.com/cupule/cupule/effects"
)

// Limits and defaults of the configuration.
const (
	// MaxFile is the largest configuration file, in bytes.
	MaxFile = 1 << 20
	// DefaultTimeout and MaxTimeout bound the timeout of a tool or operation.
	DefaultTimeout = 30 * time.Second
	MaxTimeout     = time.Hour
	// DefaultMaxOutput and LargestMaxOutput bound the max_output of a tool or operation, in bytes.
	DefaultMaxOutput = 256_000
	LargestMaxOutput = 64 << 20
	// DefaultStartup bounds the start of a server.
	DefaultStartup = 10 * time.Second
)

// Config is a checked configuration. It is not changed after Load or Parse.
type Config struct {
	// File is the file's path as given to Load, or the name given to Parse.
	File string
	// Dir is the folder that relative paths start from.
	Dir        string
	MCP        map[string]*Server
	Operations map[string]*Operation
	Callers    map[string]*Caller
	Serve      Serve

	places map[string]effects.Position // of keys and list items, by their path
}

// Server is one MCP server under mcp. Exactly one of Stdio and HTTP is set.
type Server struct {
	Alias string
	Stdio *Stdio
	HTTP  *HTTP
	// Startup bounds starting or connecting and negotiating; never zero.
	Startup time.Duration
	// Protocol pins the protocol revision, such as "2025-11-25"; empty negotiates.
	Protocol string
	Session  Session
	// Concurrency bounds the calls in flight on this server; zero means no bound, but for
	// calls that start a child each: 16, or 4 for each processor, whichever is more.
	Concurrency int
	// Allowed, Resources and Prompts are what may be reached, by the exact name that the
	// server uses; keys of Resources may end in "*".
	Allowed   map[string]*Rule
	Resources map[string]*Rule
	Prompts   map[string]*Rule
	At        effects.Position
}

// Transport returns effects.Stdio or effects.StreamableHTTP.
func (s *Server) Transport() effects.Kind {
	if s.HTTP != nil {
		return effects.StreamableHTTP
	}
	return effects.Stdio
}

// Stdio is a server that runs as a child process.
type Stdio struct {
	// Command is looked up on PATH at use; with a slash it is an absolute path already.
	Command string
	Args    []string
	// Dir is absolute, or empty for the folder of this process.
	Dir string
	// Env maps the child's variables to the names of the host's.
	Env map[string]string
	At  effects.Position
}

// HTTP is a server that is reached over Streamable HTTP.
type HTTP struct {
	URL string
	// BearerTokenEnv names the variable that holds the bearer token; empty sends none.
	BearerTokenEnv string
	// HeadersEnv maps header names to the names of variables.
	HeadersEnv map[string]string
	// CAFile is the absolute path of a PEM file of roots to trust; empty trusts the system's.
	CAFile string
	// ProxyEnv names the variable that holds a proxy's URL; empty uses none.
	ProxyEnv string
	At       effects.Position
}

// Session says how long sessions with a server live. The zero Session is one operation each.
type Session struct {
	// Shared uses one long-lived session for every call.
	Shared bool
	// Warm keeps this many started sessions ready, each for one operation; stdio only.
	Warm int
	// Idle is how long a warm session waits before it is replaced; zero means a default.
	Idle time.Duration
}

// Rule is one tool, resource or prompt that may be reached.
type Rule struct {
	// Name is the tool's or prompt's name, or the resource's URI or pattern.
	Name      string
	Effects   effects.Set
	Declared  *effects.Positions
	Timeout   time.Duration // never zero
	MaxOutput int64         // bytes, never zero
	At        effects.Position
}

// Operation is an operation that the file declares.
type Operation struct {
	Name        string
	Description string
	// Server and Tool name the tool that calls are passed to; empty when a Go handler is due.
	Server string
	Tool   string
	// Effects are the operation's own, or the tool's where it states none.
	Effects  effects.Set
	Declared *effects.Positions
	// Timeout and MaxOutput are zero where the operation states none.
	Timeout   time.Duration
	MaxOutput int64
	// Params and Result are JSON Schemas; nil where the operation states none.
	Params json.RawMessage
	Result json.RawMessage
	At     effects.Position
	// ParamsAt and ResultAt are where the keys of the schemas stand.
	ParamsAt effects.Position
	ResultAt effects.Position
}

// Caller is one party that may call over JSON-RPC.
type Caller struct {
	Name string
	// TokenEnv names the variable that holds the caller's token; empty where it has none.
	TokenEnv  string
	Authorize effects.Set
	Offline   bool
	// Operations are the operations that it may call; nil means all.
	Operations []effects.Pattern
	Timeout    time.Duration // zero: no bound of its own
	MaxOutput  int64         // bytes; zero: no bound of its own
	At         effects.Position
}

// Authority returns the caller's authority for calls that come in by origin.
func (c *Caller) Authority(origin string) effects.Authority {
	return effects.Authority{
		Principal: c.Name, Origin: origin, Offline: c.Offline, Authorized: c.Authorize,
		Operations: c.Operations, Timeout: c.Timeout, MaxOutput: c.MaxOutput,
	}
}

// Serve says where operations are served.
type Serve struct {
	Listen []Listener
}

// Listener is one place to serve at.
type Listener struct {
	// Address is as the file spells it: http://HOST:PORT/rpc, https://..., tcp://HOST:PORT,
	// unix:PATH or stdio.
	Address string
	// Scheme is "http", "https", "tcp", "unix" or "stdio".
	Scheme string
	// Host is HOST:PORT, or the absolute path of a unix socket.
	Host string
	// Path is the URL's path, "/rpc" where none is given; http and https only.
	Path string
	// Certificate and Key are absolute paths of PEM files; empty without TLS.
	Certificate string
	Key         string
	// Anonymous lets callers in without a token, as the caller named "anonymous".
	Anonymous bool
	// BehindProxy says that a proxy in front does TLS.
	BehindProxy bool
	// Hosts and Origins are further Host and Origin header values to accept.
	Hosts   []string
	Origins []string
	At      effects.Position
}
