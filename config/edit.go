package config

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
)

// AddServer adds a server to a file under an alias, and changes no other byte. A file
// that doesn't exist is created. A server that the file has already, and one that would
// make it wrong, are errors, and nothing changes.
//
// The server is written as given: a relative path in it is relative to the file.
func AddServer(file, alias string, server *Server) error {
	if server == nil {
		return errors.New("config: no server to add")
	}
	named := *server
	named.Alias = alias
	return AddServers(file, []*Server{&named})
}

// AddServers adds servers under their aliases in one step: all of them, or none.
func AddServers(file string, servers []*Server) error {
	if len(servers) == 0 {
		return nil
	}
	return rewrite(file, true, func(before []byte) ([]byte, error) {
		text := before
		for _, server := range servers {
			if server == nil {
				return nil, errors.New("config: no server to add")
			}
			var err error
			if text, err = addTo(file, text, server); err != nil {
				return nil, err
			}
		}
		return text, verify(file, before, text, servers)
	})
}

// RemoveServer removes a server from a file, and changes no other byte. A server that an
// operation uses stays.
func RemoveServer(file, alias string) error {
	return rewrite(file, false, func(before []byte) ([]byte, error) {
		cfg, err := Parse(file, before)
		if err != nil {
			return nil, err
		}
		if err := removable(cfg, alias); err != nil {
			return nil, err
		}
		text, err := removeFrom(file, before, alias)
		if err != nil {
			return nil, err
		}
		delete(cfg.MCP, alias)
		return text, verifyAgainst(cfg, file, text, nil)
	})
}

func removable(cfg *Config, alias string) error {
	if cfg.MCP[alias] == nil {
		guess := (&reader{}).suggest(alias, maps.Keys(cfg.MCP))
		return fmt.Errorf("config: %s has no server %q%s", cfg.File, clip(alias), guess)
	}
	var users []string
	for _, name := range sortedKeys(cfg.Operations) {
		if o := cfg.Operations[name]; o.Server == alias {
			users = append(users, fmt.Sprintf("%s (line %d)", name, o.At.Line))
		}
	}
	if len(users) > 0 {
		return fmt.Errorf("config: server %s is used by the operations %s: remove those first", alias, strings.Join(users, ", "))
	}
	return nil
}

// verify makes sure that an edit added these servers and changed nothing else.
func verify(file string, before, after []byte, added []*Server) error {
	cfg, err := Parse(file, before)
	if err != nil && !startable(file, before) {
		return err
	}
	return verifyAgainst(cfg, file, after, added)
}

func verifyAgainst(before *Config, file string, after []byte, added []*Server) error {
	if _, err := newPage(file, after); err != nil {
		return uneditable(file) // what is wrong there stands in no file
	}
	cfg, err := Parse(file, after)
	if err != nil {
		return fmt.Errorf("config: %s stays as it is, since the change would make it wrong:\n%w", file, err)
	}
	there := true
	for _, server := range added {
		there = there && cfg.MCP[server.Alias] != nil
		delete(cfg.MCP, server.Alias)
	}
	if !there || before != nil && !reflect.DeepEqual(placeless(before), placeless(cfg)) {
		return uneditable(file)
	}
	return nil
}

func uneditable(file string) error {
	return fmt.Errorf("config: %s is written in a way that can't be edited in place: edit it by hand", file)
}

// startable reports whether text is no configuration only because nothing stands in it or
// under mcp yet.
func startable(file string, text []byte) bool {
	p, err := newPage(file, text)
	return err == nil && (p.root == nil || p.mcp != nil && isNull(p.mcp))
}

// placeless returns a copy that compares equal wherever the same things stand.
func placeless(c *Config) *Config {
	n := &Config{MCP: map[string]*Server{}, Operations: map[string]*Operation{}, Callers: map[string]*Caller{}}
	for alias, s := range c.MCP {
		n.MCP[alias] = placelessServer(*s)
	}
	for name, o := range c.Operations {
		operation := *o
		operation.At, operation.ParamsAt, operation.ResultAt, operation.Declared = noPlace, noPlace, noPlace, nil
		n.Operations[name] = &operation
	}
	for name, caller := range c.Callers {
		c := *caller
		c.At = noPlace
		n.Callers[name] = &c
	}
	for _, l := range c.Serve.Listen {
		l.At = noPlace
		n.Serve.Listen = append(n.Serve.Listen, l)
	}
	return n
}

func placelessServer(s Server) *Server {
	s.At = noPlace
	if s.Stdio != nil {
		stdio := *s.Stdio
		stdio.At, s.Stdio = noPlace, &stdio
	}
	if s.HTTP != nil {
		http := *s.HTTP
		http.At, s.HTTP = noPlace, &http
	}
	s.Allowed, s.Resources, s.Prompts = placelessRules(s.Allowed), placelessRules(s.Resources), placelessRules(s.Prompts)
	return &s
}

func placelessRules(rules map[string]*Rule) map[string]*Rule {
	n := map[string]*Rule{}
	for name, rule := range rules {
		r := *rule
		r.At, r.Declared = noPlace, nil
		n[name] = &r
	}
	return n
}
