package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/internal/names"
)

// Limits of the keys that have no constant of their own.
const (
	// MaxStartup bounds the startup of a server.
	MaxStartup = 10 * time.Minute
	// MaxIdle bounds how long a warm session may wait.
	MaxIdle = 24 * time.Hour
	// MaxWarm bounds the warm sessions of one server.
	MaxWarm = 64
	// MaxConcurrency bounds the concurrency of one server.
	MaxConcurrency = 1024
)

// Protocols returns the revisions of MCP that protocol may name, oldest first.
func Protocols() []string {
	return []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}
}

const aliasPattern = `^[a-z0-9][a-z0-9_-]{0,63}$`

func text(says, example string) *shape { return &shape{kind: kindText, says: says, example: example} }

func truth() *shape { return &shape{kind: kindFlag, says: "true or false", example: "true"} }

func count(most int64, example string) *shape {
	return &shape{kind: kindCount, says: "a whole number", min: 1, max: most, example: example}
}

func seconds(most time.Duration) *shape {
	return &shape{kind: kindSeconds, says: "a number of seconds", max: int64(most), example: "30"}
}

func size() *shape {
	return &shape{kind: kindSize, says: "a size with its unit, such as 256KB", max: LargestMaxOutput, pattern: sizePattern, example: "256KB"}
}

func list(says string, elem *shape) *shape { return &shape{kind: kindList, says: says, elem: elem} }

// set is a list whose items stand once only.
func set(says string, elem *shape) *shape {
	return &shape{kind: kindList, says: says, elem: elem, unique: true}
}

// object is a mapping with these keys.
func object(fields ...field) *shape {
	var keys []string
	for _, f := range fields {
		keys = append(keys, f.name)
	}
	says := "a mapping with the key " + keys[0]
	if last := len(keys) - 1; last > 0 {
		says = "a mapping with the keys " + strings.Join(keys[:last], ", ") + " and " + keys[last]
	}
	return &shape{kind: kindObject, says: says, fields: fields}
}

// table is a mapping from names that check accepts.
func table(says, key string, check func(string) error, pattern string, elem *shape) *shape {
	return &shape{kind: kindMap, says: says, key: key, check: check, pattern: pattern, elem: elem}
}

func effectList(allowed ...effects.Effect) *shape {
	return &shape{
		kind: kindEffects, says: "a list of effects, [] for none", example: "[" + allowed[0].String() + "]",
		enum: effects.NewSet(allowed...).Names(), elem: text("the name of an effect", ""),
	}
}

func variableName(example string) *shape {
	return &shape{
		kind: kindText, says: "the name of an environment variable", hidden: true,
		check: checkVariable, pattern: variablePattern, example: example,
	}
}

func jsonSchema() *shape {
	return &shape{kind: kindSchema, says: "a JSON Schema: a mapping, true or false", example: "{type: object}"}
}

// file describes the whole file. Nothing changes it.
var file = object(
	field{name: "mcp", doc: "The MCP servers that this service may reach, by alias.",
		shape: table("a mapping from aliases to servers", "ALIAS", names.CheckAlias, aliasPattern, server())},
	field{name: "operations", doc: "The operations that this service offers without a line of Go, and those whose handler is written in Go.",
		shape: table("a mapping from names to operations", "OPERATION", names.CheckOperation, `^[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*$`, operation())},
	field{name: "callers", doc: "Who may call over JSON-RPC, and with what authority. Peers on stdio and on a unix socket act as the caller named local, callers without a token as the one named anonymous; where such a caller is not declared, it has no authority.",
		shape: table("a mapping from names to callers", "CALLER", names.CheckAlias, aliasPattern, caller())},
	field{name: "serve", doc: "Where operations are served.",
		shape: object(
			field{name: "listen", doc: "The places to serve at. Without one, cupule serve speaks on stdio. Where stdio is among them, its end ends the others too.",
				shape: list("a list of addresses", listener())})},
)

func server() *shape {
	shape := object(
		field{name: "stdio", shape: stdio(), doc: "A server that is started as a child process. Exactly one of stdio and http is needed."},
		field{name: "http", shape: overHTTP(), doc: "A server that is reached over Streamable HTTP."},
		field{name: "allowed", doc: "The tools that may be called, spelled as the server spells them. Nothing else exists for this service. {} allows none.",
			otherwise: "none", shape: rules("a mapping from tools to their effects", "TOOL", checkTool)},
		field{name: "resources", doc: "The resources that may be read, by URI. A * at the end matches every URI that begins so.",
			otherwise: "none", shape: rules("a mapping from resources to their effects", "URI", checkResource)},
		field{name: "prompts", doc: "The prompts that may be used, spelled as the server spells them.",
			otherwise: "none", shape: rules("a mapping from prompts to their effects", "PROMPT", checkTool)},
		field{name: "startup", doc: "How long starting or connecting and negotiating may take.",
			otherwise: "10", shape: seconds(MaxStartup)},
		field{name: "protocol", doc: "The protocol revision to speak.", otherwise: "negotiated",
			shape: &shape{kind: kindText, says: "a protocol revision", enum: Protocols(), example: "2025-11-25"}},
		field{name: "session", doc: "How long a session lives.", otherwise: "one operation each", shape: session()},
		field{name: "concurrency", doc: "How many calls may be in flight at once; more wait within their timeout. Where each call starts a child of its own, 16 or 4 for each processor, whichever is more, if nothing is said.",
			otherwise: "no bound; 16 or more for children", shape: count(MaxConcurrency, "8")},
	)
	shape.oneOf = []string{"stdio", "http"}
	return shape
}

func stdio() *shape {
	return object(
		field{name: "command", required: true, shape: text("the program to start", "research-tools"),
			doc: "The program. With a slash it is a path, relative to this file; without one it is looked up on PATH at first use. No shell is involved."},
		field{name: "args", doc: "Its arguments, passed as they are. Nothing is expanded, and no secret may stand here.",
			otherwise: "none", shape: list("a list of arguments, each of them text", argument())},
		field{name: "dir", doc: "The folder that it runs in, relative to this file.",
			otherwise: "the folder that this process runs in", shape: text("a folder", ".")},
		field{name: "env", doc: "Its whole environment: names of its variables, and for each the name of the host's variable that holds the value. Values never stand here.",
			otherwise: "an empty environment",
			shape:     table("a mapping from the child's variables to the host's", "VARIABLE", checkChildVariable, variablePattern, variableName("MY_TOKEN"))},
	)
}

func argument() *shape {
	return &shape{kind: kindText, says: "an argument", multiline: true, empty: true, example: "--verbose"}
}

func overHTTP() *shape {
	return object(
		field{name: "url", required: true, doc: "The server's address: https://, or http:// on loopback. No user, password, fragment or secret may stand in it.",
			shape: &shape{kind: kindText, says: "an https:// URL", hidden: true, check: checkURL, pattern: `^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@]+([/?][^#]*)?$`, example: "https://mcp.example.org/mcp"}},
		field{name: "bearer_token_env", doc: "The variable that holds the bearer token.", otherwise: "no token is sent", shape: variableName("LIBRARY_TOKEN")},
		field{name: "headers_env", doc: "Further headers, each with the name of the variable that holds its value. Headers that belong to the protocol are refused.",
			otherwise: "none", shape: table("a mapping from headers to variables", "HEADER", checkHeader, headerPattern, variableName("LIBRARY_TENANT"))},
		field{name: "ca_file", doc: "A PEM file of roots to trust instead of the system's, relative to this file.",
			otherwise: "the system's roots", shape: text("a file", "roots.pem")},
		field{name: "proxy_env", doc: "The variable that holds a proxy's URL. Only https servers are reached through a proxy.",
			otherwise: "no proxy, whatever the environment says", shape: variableName("LIBRARY_PROXY")},
	)
}

func session() *shape {
	shape := object(
		field{name: "shared", doc: "Use one long-lived session for all calls. Not together with warm.", otherwise: "false", shape: truth()},
		field{name: "warm", doc: "How many started sessions to keep ready, each for one operation; stdio only.", otherwise: "none", shape: count(MaxWarm, "2")},
		field{name: "idle", doc: "After how long a warm session is replaced; only together with warm.", otherwise: "chosen by the client", shape: seconds(MaxIdle)},
	)
	shape.needs = map[string][]string{"idle": {"warm"}}
	return shape
}

func rules(says, key string, check func(string) error) *shape {
	return table(says, key, check, "", object(
		field{name: "effects", required: true, doc: "What a call may do. [] says: none of these.", shape: anyEffects()},
		field{name: "timeout", doc: "How long a call may take, from the decision to the result.", otherwise: "30", shape: seconds(MaxTimeout)},
		field{name: "max_output", doc: "The largest result. A larger one is refused, never cut.", otherwise: "256KB", shape: size()},
	))
}

func anyEffects() *shape { return effectList(slices.Collect(effects.All())...) }

func operation() *shape {
	shape := object(
		field{name: "description", doc: "What the operation does, in a sentence.", otherwise: "none",
			shape: &shape{kind: kindText, says: "a description", multiline: true, example: "Resolve an identifier"}},
		field{name: "tool", doc: "The tool that calls are passed to, as SERVER/TOOL. It must stand under allowed of that server. Without it, a Go handler is due.",
			otherwise: "a Go handler", shape: text("a tool, as SERVER/TOOL", "research-tools/resolve_identifier")},
		field{name: "effects", doc: "What a call may do. Needed without tool; with tool they must cover the tool's.", otherwise: "the tool's", shape: anyEffects()},
		field{name: "timeout", doc: "How long a call may take. The smallest of operation, tool and caller holds.", otherwise: "the tool's, or 30", shape: seconds(MaxTimeout)},
		field{name: "max_output", doc: "The largest result. The smallest of operation, tool and caller holds.", otherwise: "the tool's, or 256KB", shape: size()},
		field{name: "params", doc: "The JSON Schema (2020-12) of the parameters.", otherwise: "any object", shape: jsonSchema()},
		field{name: "result", doc: "The JSON Schema (2020-12) of the result, for the catalog.", otherwise: "none", shape: jsonSchema()},
	)
	shape.anyOf = []string{"tool", "effects"}
	return shape
}

func caller() *shape {
	pattern := &shape{kind: kindText, says: "an operation, or a prefix and *", check: checkOperationPattern, example: "identifier.*",
		pattern: `^([A-Za-z][A-Za-z0-9_.-]*\*?|\*)$`}
	return object(
		field{name: "token_env", doc: "The variable that holds the caller's token.", otherwise: "it can't authenticate", shape: variableName("DASHBOARD_TOKEN")},
		field{name: "authorize", doc: "The effects that the caller is authorized for, of those that need it.",
			otherwise: "none", shape: effectList(effects.Mutation, effects.Inference)},
		field{name: "offline", doc: "Deny the caller everything that reads from the network.", otherwise: "false", shape: truth()},
		field{name: "operations", doc: "The operations that it may call; a * at the end matches every name that begins so. [] allows none.",
			otherwise: "all", shape: set("a list of operations", pattern)},
		field{name: "timeout", doc: "Bounds each of its calls.", otherwise: "no bound of its own", shape: seconds(MaxTimeout)},
		field{name: "max_output", doc: "Bounds each of its results.", otherwise: "no bound of its own", shape: size()},
	)
}

func listener() *shape {
	address := text("an address: http://HOST:PORT/rpc, https://HOST:PORT/rpc, tcp://HOST:PORT, unix:PATH or stdio", "unix:./app.sock")
	address.pattern = `^([Hh][Tt][Tt][Pp][Ss]?://|[Tt][Cc][Pp]://|unix:|stdio$)`
	tls := object(
		field{name: "certificate", required: true, shape: text("a PEM file", "cert.pem"), doc: "The certificate chain, a PEM file relative to this file."},
		field{name: "key", required: true, shape: text("a PEM file", "key.pem"), doc: "Its private key, a PEM file relative to this file."})
	shape := object(
		field{name: "address", required: true, shape: address, doc: "http://HOST:PORT/rpc, https://HOST:PORT/rpc, tcp://HOST:PORT, unix:PATH (relative to this file) or stdio. TCP and HTTP need a caller with a token, and off loopback TLS."},
		field{name: "tls", shape: tls, doc: "Certificate and key, for https:// and tcp://. Both are read anew at each reload.", otherwise: "no TLS"},
		field{name: "anonymous", shape: truth(), doc: "Let callers in without a token, as the caller named anonymous.", otherwise: "false"},
		field{name: "behind_proxy", shape: truth(), doc: "Say that a proxy in front does TLS.", otherwise: "false"},
		field{name: "hosts", doc: "Further values of the Host header to accept; http and https only.", otherwise: "the address's own",
			shape: set("a list of hosts", &shape{kind: kindText, says: "HOST or HOST:PORT", check: checkHost, example: "app.example.org"})},
		field{name: "origins", doc: "Values of the Origin header to accept beside the listener's own; http and https only.", otherwise: "none",
			shape: set("a list of origins", &shape{kind: kindText, says: "an origin such as https://app.example.org", check: checkOrigin, example: "https://app.example.org"})},
	)
	shape.plain = address
	shape.says = "an address, or a mapping with the key address"
	return shape
}

// checkTool accepts the name of a tool or prompt in whatever way a server spells it.
func checkTool(name string) error {
	switch {
	case name == "":
		return errors.New("a name can't be empty: write it as the server spells it")
	case strings.HasSuffix(name, "*"):
		return fmt.Errorf("%q is no name: tools and prompts are allowed one by one, write each as the server spells it", clip(name))
	}
	return checkName(name)
}

func checkName(name string) error {
	switch {
	case len(name) > 1024:
		return fmt.Errorf("%q is too long: at most 1024 bytes are allowed", clip(name))
	case strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return fmt.Errorf("%q holds a control character", clip(name))
	}
	return nil
}

func checkResource(name string) error {
	if _, err := effects.ParsePattern(name); err != nil {
		return err
	}
	return checkName(name)
}

func checkChildVariable(name string) error {
	if !variable.MatchString(name) || len(name) > 128 {
		return errors.New("this key is no variable name: write letters, digits and _, not beginning with a digit")
	}
	if opaque(name, 20) {
		return errors.New("this key looks like a secret: write the name of the child's variable")
	}
	return nil
}

// checkOperationPattern accepts what could match an operation.
func checkOperationPattern(text string) error {
	p, err := effects.ParsePattern(text)
	if err != nil {
		return err
	}
	if p.Exact() {
		return names.CheckOperation(text)
	}
	// Whatever follows the prefix makes it a name; x stands for it.
	if err := names.CheckOperation(strings.TrimSuffix(text, "*") + "x"); err != nil {
		return fmt.Errorf("%q matches nothing that an operation may be called: write the beginning of a name and *, as in identifier.*", clip(text))
	}
	return nil
}
