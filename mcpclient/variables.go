package mcpclient

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/registry"
)

// variables are the values that one session with a server needs, read when it begins.
type variables struct {
	env     map[string]secret // the child's, by its own names
	bearer  secret
	headers map[string]secret
	proxy   secret
}

// masker returns what must not show in text that the server wrote.
func (v *variables) masker() masker {
	m := masker{v.bearer, v.proxy}
	for _, set := range []map[string]secret{v.env, v.headers} {
		for _, name := range slices.Sorted(maps.Keys(set)) {
			m = append(m, set[name])
		}
	}
	return m
}

// reader reads variables, and remembers what is missing.
type reader struct {
	lookup  func(string) (string, bool)
	missing []error
}

func (r *reader) read(key, name string) secret {
	value, ok := r.lookup(name)
	if !ok {
		r.missing = append(r.missing, fmt.Errorf("%s: the variable %s is not set", key, name))
	}
	return secret(value)
}

// header reads a value that goes into a header, which an empty one can't do.
func (r *reader) header(key, name string) secret {
	before := len(r.missing)
	value := r.read(key, name)
	switch {
	case value == "" && len(r.missing) == before:
		r.missing = append(r.missing, fmt.Errorf("%s: the variable %s is empty", key, name))
	case strings.ContainsFunc(string(value), func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }):
		r.missing = append(r.missing, fmt.Errorf("%s: the variable %s holds a control character, which no header can", key, name))
	}
	return value
}

func (r *reader) all(key string, names map[string]string, read func(key, name string) secret) map[string]secret {
	values := make(map[string]secret, len(names))
	for _, to := range slices.Sorted(maps.Keys(names)) {
		values[to] = read(key+"."+to, names[to])
	}
	return values
}

// readVariables reads every variable that a server needs, or says which are missing.
func readVariables(s *config.Server, lookup func(string) (string, bool)) (*variables, error) {
	r := &reader{lookup: lookup}
	v := new(variables)
	at := "mcp." + s.Alias
	if s.Stdio != nil {
		v.env = r.all(at+".stdio.env", s.Stdio.Env, r.read)
	}
	if s.HTTP != nil {
		if name := s.HTTP.BearerTokenEnv; name != "" {
			v.bearer = r.header(at+".http.bearer_token_env", name)
		}
		v.headers = r.all(at+".http.headers_env", s.HTTP.HeadersEnv, r.header)
		if name := s.HTTP.ProxyEnv; name != "" {
			v.proxy = r.header(at+".http.proxy_env", name)
		}
	}
	if len(r.missing) > 0 {
		e := failure(registry.KindUnavailable, registry.NotSent, "server %s needs variables that are not set as they should be", s.Alias)
		return nil, because(e, errors.Join(r.missing...))
	}
	return v, nil
}
