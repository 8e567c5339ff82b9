package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// imported is one server on its way in.
type imported struct {
	*importer
	name, alias string
	kind        string
	command     string
	args        []string
	env         []member
	dir         string
	url         string
	headers     []member
}

// entry reads the keys of a server. What it doesn't know is noted and left out.
func (i *importer) entry(m member) (*imported, error) {
	e := &imported{importer: i, name: m.key}
	keys, err := members(m.value)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if err := e.read(key); err != nil {
			return nil, err
		}
	}
	return e, e.checkKind()
}

func (e *imported) read(m member) (err error) {
	switch m.key {
	case "name":
	case "command":
		err = json.Unmarshal(m.value, &e.command)
	case "args":
		err = json.Unmarshal(m.value, &e.args)
	case "env":
		e.env, err = members(m.value)
	case "cwd", "workingDirectory":
		err = json.Unmarshal(m.value, &e.dir)
	case "url", "serverUrl", "httpUrl":
		err = json.Unmarshal(m.value, &e.url)
	case "headers":
		e.headers, err = members(m.value)
	case "type", "transport", "transportType":
		err = json.Unmarshal(m.value, &e.kind)
	case "disabled", "enabled":
		var set bool
		if err = json.Unmarshal(m.value, &set); err == nil && set == (m.key == "disabled") {
			return errors.New("it is disabled there")
		}
	default:
		e.note(e.name, "the key %q has no counterpart here and is left out", clip(redact(m.key)))
	}
	if err != nil {
		return fmt.Errorf("its key %s has the wrong type", m.key)
	}
	return nil
}

func redact(text string) string {
	if literal(text) || opaque(text, 20) {
		return "[redacted]"
	}
	return text
}

func (e *imported) checkKind() error {
	switch strings.ToLower(e.kind) {
	case "", "stdio", "http", "streamable-http", "streamablehttp", "streamable_http":
	case "sse":
		return errors.New("it speaks the older SSE transport, which is not supported: ask for its Streamable HTTP address")
	default:
		return fmt.Errorf("its transport %q is not supported", clip(redact(e.kind)))
	}
	switch {
	case e.command == "" && e.url == "":
		return errors.New("it has neither command nor url")
	case e.command != "" && e.url != "":
		return errors.New("it has both command and url")
	}
	return nil
}

func (e *imported) server() (*Server, error) {
	s := &Server{Alias: e.alias, Startup: DefaultStartup, Allowed: map[string]*Rule{}}
	if e.url != "" {
		http, err := e.http()
		s.HTTP = http
		return s, err
	}
	if strings.Contains(e.command, "${") {
		return nil, errors.New("its command holds a variable, and nothing is expanded here: write the path out")
	}
	s.Stdio = &Stdio{Command: e.command, Env: map[string]string{}}
	if e.dir != "" && strings.Contains(e.dir, "${") {
		e.note(e.name, "its folder holds a variable, which isn't expanded here, and is left out: write dir yourself")
	} else {
		s.Stdio.Dir = e.dir
	}
	for _, m := range e.env {
		e.variable(s.Stdio.Env, m)
	}
	s.Stdio.Args = e.arguments(s.Stdio.Env)
	e.launcher(s)
	return s, nil
}

// variable maps one of the child's variables to one of the host's.
func (e *imported) variable(env map[string]string, m member) {
	if checkChildVariable(m.key) != nil {
		e.note(e.name, "a variable of its env has a name that isn't supported, and is left out")
		return
	}
	value := textOf(m.value)
	if (m.key == "PATH" || m.key == "HOME") && reference(value) == "" {
		e.note(e.name, "its own value of %s is left out: the host's is passed", m.key)
		env[m.key] = m.key
		return
	}
	env[m.key] = e.host(m.key, value, "env "+m.key)
}

// textOf returns the value of a JSON string, or the JSON of any other value.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

var (
	references = regexp.MustCompile(`^(?:\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-[^}]*)?\}|\$([A-Za-z_][A-Za-z0-9_]*)|%([A-Za-z_][A-Za-z0-9_]*)%)$`)
	inputRef   = regexp.MustCompile(`\$\{input:([^}]+)\}`)
)

// reference returns the variable that a value stands for, or "".
func reference(value string) string {
	if m := references.FindStringSubmatch(value); m != nil {
		return m[1] + m[2] + m[3]
	}
	return ""
}

// host returns the host's variable for a value: the one that it refers to, or one that is
// named after its use. Two values never share a variable.
func (e *imported) host(name, value, use string) string {
	if refers := reference(value); checkVariable(refers) == nil {
		name = refers
	} else {
		if m := inputRef.FindStringSubmatch(value); m != nil && e.inputs[m[1]] != "" {
			use += ": " + clip(redact(e.inputs[m[1]]))
		}
		if known, ok := e.literals[name]; ok && known != value {
			name = screaming(e.alias) + "_" + name
		}
		for base, n := name, 2; ; n++ {
			if known, ok := e.literals[name]; !ok || known == value {
				break
			}
			name = fmt.Sprintf("%s_%d", base, n)
		}
		e.literals[name] = value
	}
	e.Variables = append(e.Variables, ImportedVariable{Name: name, Server: e.alias, Use: use})
	return name
}

// screaming spells a name the way variables are spelled.
func screaming(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z':
			return c - 'a' + 'A'
		case c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			return c
		}
		return '_'
	}, name)
}

// named returns a variable's name made of the alias and a use.
func (e *imported) named(use string) string {
	name := screaming(e.alias) + "_" + strings.Trim(screaming(use), "_")
	if name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name
}

// arguments takes secrets out of the arguments. The program has to read them from a variable.
func (e *imported) arguments(env map[string]string) []string {
	var kept []string
	secret := secretArgs(e.args)
	for n := 0; n < len(e.args); n++ {
		arg := e.args[n]
		flag, value, found := secretFlag(e.args, n)
		switch set, words := e.containerEnv(n, env); {
		case set != nil:
			kept = append(kept, set...)
			n += words - 1
			continue
		case found:
			name := e.named(flag)
			if env[name] != "" {
				name += "_ARGUMENT"
			}
			env[name] = e.host(name, value, "argument --"+strings.TrimLeft(flag, "-"))
			e.note(e.name, "the argument %s is left out, since arguments are visible to every process: its value is passed as the variable %s, make sure that the program reads it",
				clip(flag), name)
			if arg == flag {
				n++
			}
			continue
		case slices.Contains(secret, n):
			if len(kept) > 0 && n > 0 && kept[len(kept)-1] == e.args[n-1] && takesValue.MatchString(e.args[n-1]) {
				kept = kept[:len(kept)-1]
			}
			e.note(e.name, "argument %d looks like a secret and is left out: pass it in env, by the name of a variable", n+1)
			continue
		case strings.Contains(arg, "${"):
			e.note(e.name, "argument %d holds a variable, which isn't expanded here: replace it", n+1)
		}
		kept = append(kept, arg)
	}
	return kept
}

var (
	containers   = regexp.MustCompile(`^(?:docker|podman|nerdctl)$`)
	containerSet = regexp.MustCompile(`^(?:(-e)|(--env)=)?([A-Za-z_][A-Za-z0-9_]*)=(.*)$`)
)

// containerEnv returns what stands for a variable that a container is given at n, as in
// -e NAME=VALUE, and how many arguments that was: the name alone, whose value then comes
// from the environment of the command.
func (e *imported) containerEnv(n int, env map[string]string) (kept []string, words int) {
	if !containers.MatchString(base(e.command)) {
		return nil, 0
	}
	words = 1
	text := e.args[n]
	if (text == "-e" || text == "--env") && n+1 < len(e.args) {
		words, text = 2, e.args[n+1]
	}
	m := containerSet.FindStringSubmatch(text)
	if m == nil || words == 1 && m[1] == "" && m[2] == "" {
		return nil, 0
	}
	name := m[3]
	env[name] = e.host(name, m[4], "env "+name+" of the container")
	return []string{"-e", name}, words
}

// takesValue matches flags that mean nothing without what stands behind them.
var takesValue = regexp.MustCompile(`^(?:--?header|-H|-e|--env)$`)

// secretFlag reports whether a secret is given by a flag at n, with its value behind = or
// as the next argument.
func secretFlag(args []string, n int) (flag, value string, found bool) {
	if flag, value, ok := strings.Cut(args[n], "="); ok && strings.HasPrefix(flag, "-") && secretName(flag) {
		return flag, value, secretValue(value) || strings.Contains(value, "${")
	}
	if n+1 < len(args) && flagSyntax.MatchString(args[n]) && secretName(args[n]) {
		value = args[n+1]
		return args[n], value, secretValue(value) && !strings.HasPrefix(value, "-") || strings.Contains(value, "${")
	}
	return "", "", false
}

var launchers = regexp.MustCompile(`^(?:npx|npm|pnpm|pnpx|yarn|bun|bunx|node|deno|tsx|uvx?|pipx?|poetry|python[0-9.]*|py|ruby|java|dotnet|go|cargo|docker|podman|cmd|sh|bash)$`)

// base returns the name of a program without its folder and the endings of Windows.
func base(text string) string {
	text = path.Base(strings.ReplaceAll(text, `\`, "/"))
	return strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(text), ".exe"), ".cmd")
}

// launcher adds what programs that start others need.
func (e *imported) launcher(s *Server) {
	name := base(e.command)
	if !launchers.MatchString(name) {
		return
	}
	for _, variable := range []string{"PATH", "HOME"} {
		if s.Stdio.Env[variable] == "" {
			s.Stdio.Env[variable] = variable
		}
	}
	downloads := func(arg string) bool { return base(arg) == "npx" || base(arg) == "uvx" }
	if downloads(name) || name == "cmd" && slices.ContainsFunc(e.args, downloads) {
		s.Startup = startupOfLaunchers
	}
}

func (e *imported) http() (*HTTP, error) {
	if strings.Contains(e.url, "${") {
		return nil, errors.New("its url holds a variable, and nothing is expanded here: write the address out")
	}
	if err := checkURL(e.url); err != nil {
		return nil, err
	}
	if e.kind == "" && strings.HasSuffix(strings.TrimSuffix(e.url, "/"), "/sse") {
		e.note(e.name, "its address looks like one of the older SSE transport, which is not supported: ask for its Streamable HTTP address")
	}
	if slices.ContainsFunc(strings.Split(e.url, "/"), func(part string) bool { return opaque(part, 20) }) {
		e.note(e.name, "its address holds what looks like a secret, which now stands in the file: keep the file to yourself")
	}
	h := &HTTP{URL: e.url, HeadersEnv: map[string]string{}}
	for _, m := range e.headers {
		e.header(h, m)
	}
	return h, nil
}

func (e *imported) header(h *HTTP, m member) {
	value := textOf(m.value)
	scheme, token, _ := strings.Cut(strings.TrimSpace(value), " ")
	switch {
	case checkHeader(m.key) != nil:
		e.note(e.name, "the header %s belongs to the protocol or is none, and is left out", clip(redact(m.key)))
	case strings.EqualFold(m.key, "Authorization") && strings.EqualFold(scheme, "Bearer") && h.BearerTokenEnv == "":
		h.BearerTokenEnv = e.host(e.named("TOKEN"), strings.TrimSpace(token), "bearer token")
	default:
		h.HeadersEnv[m.key] = e.host(e.named(m.key), value, "header "+m.key)
	}
}
