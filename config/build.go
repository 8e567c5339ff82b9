package config

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cupule/cupule/effects"
)

// builder makes a Config from values of the right shape and checks what holds for
// several keys together. It goes on after a problem, so that all are found.
type builder struct {
	reader
	cfg *Config
}

func (b *builder) build(root *value) {
	b.servers(root.get("mcp"))
	b.operations(root)
	b.callers(root.get("callers"))
	b.listeners(root)
}

// each calls visit for the entries of a mapping that have the right shape.
func each(v *value, visit func(name string, entry *value)) {
	if v == nil {
		return
	}
	for _, name := range v.keys {
		if entry := v.of[name]; entry != nil {
			visit(name, entry)
		}
	}
}

// path makes a path absolute.
func (b *builder) path(v *value) string {
	if v.string() == "" {
		return ""
	}
	p := filepath.FromSlash(v.text)
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(b.cfg.Dir, p)
}

func duration(v *value, otherwise time.Duration) time.Duration {
	if v == nil {
		return otherwise
	}
	return time.Duration(v.number)
}

func bytesOf(v *value, otherwise int64) int64 {
	if v == nil {
		return otherwise
	}
	return v.number
}

func (b *builder) servers(v *value) {
	b.cfg.MCP = map[string]*Server{}
	each(v, func(alias string, entry *value) {
		b.cfg.MCP[alias] = b.server(alias, entry)
	})
}

func (b *builder) server(alias string, v *value) *Server {
	s := &Server{
		Alias: alias, At: v.key,
		Startup:     duration(v.get("startup"), DefaultStartup),
		Protocol:    v.get("protocol").string(),
		Concurrency: int(v.get("concurrency").int()),
		Allowed:     b.rules(v.get("allowed")),
		Resources:   b.rules(v.get("resources")),
		Prompts:     b.rules(v.get("prompts")),
	}
	switch {
	case v.has("stdio") && v.has("http"):
		b.report(v.key, v.path, "both stdio and http are given: keep one")
	case !v.has("stdio") && !v.has("http"):
		b.report(v.key, v.path, "neither stdio nor http is given: write one of them")
	}
	s.Stdio = b.stdio(v.get("stdio"))
	s.HTTP = b.http(v.get("http"))
	s.Session = b.session(v)
	return s
}

func (b *builder) stdio(v *value) *Stdio {
	if v == nil {
		return nil
	}
	b.require(v, file.field("mcp").shape.elem.field("stdio").shape)
	s := &Stdio{At: v.key, Dir: b.path(v.get("dir")), Env: variables(v.get("env")), Command: v.get("command").string()}
	if strings.ContainsAny(s.Command, "/"+string(filepath.Separator)) {
		s.Command = b.path(v.get("command"))
	}
	if args := v.get("args"); args != nil {
		s.Args = texts(args)
		for _, i := range secretArgs(s.Args) {
			if args.items[i] != nil {
				b.report(args.items[i].at, args.items[i].path, "%s", secretArgSay)
			}
		}
	}
	return s
}

// texts returns the items of a list, empty where one is wrong.
func texts(v *value) []string {
	if v == nil {
		return nil
	}
	list := make([]string, len(v.items))
	for i, item := range v.items {
		list[i] = item.string()
	}
	return list
}

// variables returns a mapping of text to text; it is nil where the key is missing.
func variables(v *value) map[string]string {
	if v == nil {
		return nil
	}
	m := map[string]string{}
	each(v, func(name string, entry *value) { m[name] = entry.text })
	return m
}

func (b *builder) http(v *value) *HTTP {
	if v == nil {
		return nil
	}
	b.require(v, file.field("mcp").shape.elem.field("http").shape)
	h := &HTTP{
		At: v.key, URL: v.get("url").string(), BearerTokenEnv: v.get("bearer_token_env").string(),
		HeadersEnv: variables(v.get("headers_env")), CAFile: b.path(v.get("ca_file")), ProxyEnv: v.get("proxy_env").string(),
	}
	b.headers(v)
	if proxy := v.get("proxy_env"); proxy != nil && strings.HasPrefix(strings.ToLower(h.URL), "http:") {
		b.report(proxy.key, proxy.path, "a plain HTTP server isn't reached through a proxy: remove proxy_env, or write https:// in url")
	}
	return h
}

func (b *builder) headers(v *value) {
	seen := map[string]string{}
	each(v.get("headers_env"), func(name string, entry *value) {
		lower := strings.ToLower(name)
		if first, twice := seen[lower]; twice {
			b.report(entry.key, entry.path, "the header %s stands twice, as %s: headers ignore case, remove one", name, first)
		}
		seen[lower] = name
		if lower == "authorization" && v.has("bearer_token_env") {
			b.report(entry.key, entry.path, "bearer_token_env sets the header Authorization already: remove one of them")
		}
	})
}

func (b *builder) session(server *value) Session {
	v := server.get("session")
	s := Session{Shared: v.get("shared").bool(), Warm: int(v.get("warm").int()), Idle: duration(v.get("idle"), 0)}
	if warm := v.get("warm"); warm != nil && server.has("http") {
		b.report(warm.key, warm.path, "warm sessions are for stdio servers: remove warm")
	} else if warm != nil && s.Shared {
		b.report(warm.key, warm.path, "warm and shared exclude each other: remove one of them")
	}
	if idle := v.get("idle"); idle != nil && !v.has("warm") {
		b.report(idle.key, idle.path, "idle is for warm sessions: write warm too, or remove idle")
	}
	return s
}

func (b *builder) rules(v *value) map[string]*Rule {
	m := map[string]*Rule{}
	each(v, func(name string, entry *value) {
		m[name] = &Rule{
			Name: name, At: entry.key, Effects: setOf(entry), Declared: placesOf(entry),
			Timeout:   duration(entry.get("timeout"), DefaultTimeout),
			MaxOutput: bytesOf(entry.get("max_output"), DefaultMaxOutput),
		}
	})
	return m
}

func setOf(v *value) effects.Set {
	if e := v.get("effects"); e != nil {
		return e.set
	}
	return 0
}

func placesOf(v *value) *effects.Positions {
	if e := v.get("effects"); e != nil {
		return e.places
	}
	return nil
}

// sortedKeys yields the keys of a mapping in order, so that messages don't vary.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
