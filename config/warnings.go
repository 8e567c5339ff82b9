package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cupule/cupule/effects"
)

// Warnings returns what will fail when it is used, sorted by position: variables that are
// missing, commands and files that aren't found, certificates that don't fit their keys, tools that can never be called, callers that can't
// authenticate, patterns that match nothing. None is a reason to refuse the configuration.
//
// Env looks a variable up and lookPath a command; nil means os.LookupEnv and exec.LookPath.
// No value of a variable appears in a message.
func (c *Config) Warnings(env func(string) (string, bool), lookPath func(string) (string, error)) []Problem {
	if env == nil {
		env = os.LookupEnv
	}
	if lookPath == nil {
		lookPath = exec.LookPath
	}
	w := &warner{cfg: c, env: env, lookPath: lookPath}
	for _, alias := range sortedKeys(c.MCP) {
		w.server(c.MCP[alias])
	}
	for _, name := range sortedKeys(c.Operations) {
		o := c.Operations[name]
		w.deniedAlways("operations."+name, w.own(o), o.Declared, o.At)
	}
	w.callers()
	w.anonymous()
	w.certificates()
	return sorted(w.found)
}

// CheckTokens returns an *Error with every caller whose token is missing, empty or shared
// with another, or nil. Warnings tells the same; when serving starts it is an error. Env
// looks a variable up; nil means os.LookupEnv.
func (c *Config) CheckTokens(env func(string) (string, bool)) error {
	if env == nil {
		env = os.LookupEnv
	}
	w := &warner{cfg: c, env: env}
	w.tokens()
	if len(w.found) == 0 {
		return nil
	}
	return &Error{Problems: sorted(w.found)}
}

// own returns the effects that an operation has beyond those of its tool, which are
// warned of where that is declared.
func (w *warner) own(o *Operation) effects.Set {
	if s := w.cfg.MCP[o.Server]; s != nil && s.Allowed[o.Tool] != nil {
		return o.Effects.Minus(s.Allowed[o.Tool].Effects)
	}
	return o.Effects
}

type warner struct {
	cfg      *Config
	env      func(string) (string, bool)
	lookPath func(string) (string, error)
	found    []Problem
}

// warn adds a warning at the key of this path; at is the place of what is around it,
// for a configuration that no file was read for.
func (w *warner) warn(at effects.Position, path, format string, args ...any) {
	if place, known := w.cfg.places[path]; known {
		at = place
	}
	w.warnAt(at, path, format, args...)
}

func (w *warner) warnAt(at effects.Position, path, format string, args ...any) {
	w.found = append(w.found, Problem{
		File: w.cfg.File, Line: at.Line, Column: at.Column, Path: path, Message: fmt.Sprintf(format, args...),
	})
}

func (w *warner) server(s *Server) {
	path := "mcp." + s.Alias
	if len(s.Allowed)+len(s.Resources)+len(s.Prompts) == 0 {
		w.warn(s.At, path, "nothing is allowed on this server: declare tools under allowed")
	}
	if s.Stdio != nil {
		w.stdio(path+".stdio", s.Stdio)
	}
	if s.HTTP != nil {
		w.http(path+".http", s.HTTP)
	}
	for _, group := range []struct {
		key   string
		rules map[string]*Rule
	}{{"allowed", s.Allowed}, {"resources", s.Resources}, {"prompts", s.Prompts}} {
		for _, name := range sortedKeys(group.rules) {
			rule := group.rules[name]
			w.deniedAlways(join(path+"."+group.key, name), rule.Effects, rule.Declared, rule.At)
		}
	}
}

// deniedAlways warns of effects that are never available.
func (w *warner) deniedAlways(path string, set effects.Set, declared *effects.Positions, at effects.Position) {
	for e := range set.Intersect(effects.NewSet(effects.Credentials, effects.Process)).All() {
		if place := declared.Of(e); !place.IsZero() {
			at = place
		}
		w.warnAt(at, path, "every call will be denied: the effect %s is never available", e)
	}
}

var unexpanded = regexp.MustCompile(`\$\{[A-Za-z_]|^\$[A-Za-z_]|^~(/|$)`)

// tilde is a hint for paths that mean a home folder to a shell.
func tilde(name string) string {
	if strings.HasPrefix(name, "~") || strings.Contains(filepath.ToSlash(name), "/~") {
		return "; ~ is not expanded, write the folder's path"
	}
	return ""
}

func (w *warner) stdio(path string, s *Stdio) {
	if _, err := w.lookPath(s.Command); err != nil {
		hint := tilde(s.Command)
		if strings.Contains(s.Command, " ") {
			hint += "; no shell splits it, arguments belong into args"
		}
		w.warn(s.At, path+".command", "the command %s is not found%s", clip(s.Command), hint)
	}
	w.exists(s.At, path+".dir", s.Dir)
	for i, arg := range s.Args {
		if unexpanded.MatchString(arg) {
			w.warn(s.At, fmt.Sprintf("%s.args[%d]", path, i), "neither ~ nor a variable is expanded in arguments: the program gets it as it is written")
		}
	}
	for _, name := range sortedKeys(s.Env) {
		w.variable(s.At, join(path+".env", name), s.Env[name])
	}
}

func (w *warner) http(path string, h *HTTP) {
	if h.BearerTokenEnv != "" {
		w.token(h.At, path+".bearer_token_env", h.BearerTokenEnv)
	}
	for _, name := range sortedKeys(h.HeadersEnv) {
		w.variable(h.At, join(path+".headers_env", name), h.HeadersEnv[name])
	}
	w.pem(h.At, path+".ca_file", h.CAFile)
	if h.ProxyEnv != "" {
		w.variable(h.At, path+".proxy_env", h.ProxyEnv)
	}
}

// exists warns of a file or folder that isn't there.
func (w *warner) exists(at effects.Position, path, name string) {
	if name == "" {
		return
	}
	if _, err := os.Stat(name); err != nil {
		w.warn(at, path, "%s can't be used: %s%s", clip(name), reason(err), tilde(name))
	}
}

// pem warns of a PEM file that isn't there, or that can't be read to its end in little time.
func (w *warner) pem(at effects.Position, path, name string) {
	w.exists(at, path, name)
	switch info, err := os.Stat(name); {
	case err != nil:
	case !info.Mode().IsRegular():
		w.warn(at, path, "%s can't be used: it is no regular file", clip(name))
	case info.Size() > MaxFile:
		w.warn(at, path, "%s can't be used: it is larger than %d bytes", clip(name), MaxFile)
	}
}

func reason(err error) string {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err.Error()
	}
	return err.Error()
}

// variable warns of a variable that isn't set.
func (w *warner) variable(at effects.Position, path, name string) {
	if _, ok := w.env(name); !ok {
		w.warn(at, path, "the variable %s is not set", name)
	}
}

// token warns of a variable that isn't set or is empty, and returns its value.
func (w *warner) token(at effects.Position, path, name string) string {
	value, ok := w.env(name)
	switch {
	case !ok:
		w.warn(at, path, "the variable %s is not set", name)
	case value == "":
		w.warn(at, path, "the variable %s is empty: nobody can authenticate with it", name)
	}
	return value
}

// tokens warns of callers that can't authenticate with the token that they are to have.
func (w *warner) tokens() {
	owners := map[string]string{} // of tokens, never printed
	for _, name := range sortedKeys(w.cfg.Callers) {
		c := w.cfg.Callers[name]
		if c.TokenEnv == "" {
			continue
		}
		path := "callers." + name + ".token_env"
		if value := w.token(c.At, path, c.TokenEnv); value != "" {
			if owner, shared := owners[value]; shared {
				w.warn(c.At, path, "its token is the same as that of caller %s: neither can authenticate", owner)
			}
			owners[value] = name
		}
	}
}

func (w *warner) callers() {
	w.tokens()
	operations := sortedKeys(w.cfg.Operations)
	for _, name := range sortedKeys(w.cfg.Callers) {
		c := w.cfg.Callers[name]
		path := "callers." + name
		if c.TokenEnv == "" {
			w.tokenless(path, c)
		}
		for i, p := range c.Operations {
			if !matches(p, operations) {
				w.warn(c.At, fmt.Sprintf("%s.operations[%d]", path, i), "%s matches no operation of this file; one registered in Go may match", clip(string(p)))
			}
		}
	}
}

// anonymous warns of listeners whose callers nothing restricts.
func (w *warner) anonymous() {
	if w.cfg.Callers["anonymous"] != nil {
		return
	}
	for i, l := range w.cfg.Serve.Listen {
		if l.Anonymous {
			w.warn(l.At, fmt.Sprintf("serve.listen[%d].anonymous", i), "no caller is named anonymous, so whoever connects may call every operation that needs no authorization: declare one to say which")
		}
	}
}

// tokenless warns of a caller that nobody can be.
func (w *warner) tokenless(path string, c *Caller) {
	if c.Name == "local" {
		return
	}
	network, anonymous := false, false
	for _, l := range w.cfg.Serve.Listen {
		network = network || l.Scheme == "tcp" || l.Scheme == "http" || l.Scheme == "https"
		anonymous = anonymous || l.Anonymous
	}
	switch {
	case c.Name == "anonymous" && !anonymous:
		w.warn(c.At, path, "no listener says anonymous: true, so nobody acts as this caller")
	case c.Name != "anonymous" && network:
		w.warn(c.At, path, "this caller has no token_env, so nobody can authenticate as it")
	}
}

// matches reports whether a pattern matches one of the sorted names.
func matches(p effects.Pattern, names []string) bool {
	prefix := strings.TrimSuffix(string(p), "*")
	i, found := slices.BinarySearch(names, prefix)
	return found || !p.Exact() && i < len(names) && p.Matches(names[i])
}
