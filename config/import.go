package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cupule/cupule/internal/names"
)

// Imported is what Import found. It holds no secret.
type Imported struct {
	// Servers are in the order of the file, each with an alias. Nothing is allowed on them
	// until an operator declares it.
	Servers []*Server
	// Variables are to be set before the servers can be used, in the order of the file.
	Variables []ImportedVariable
	// Notes tell what was changed or left out, each in a sentence that begins with the
	// server's name there.
	Notes []string
}

// ImportedVariable is a variable of the host that an imported server reads.
type ImportedVariable struct {
	Name   string
	Server string // the server's alias
	// Use says what the variable holds: "env API_KEY", "header X-Tenant" and the like.
	Use string
}

// ImportOptions choose what is imported. Nil imports everything.
type ImportOptions struct {
	// Names are the servers to import, as they are called there; empty means all.
	Names []string
}

// startupOfLaunchers is the startup of servers whose launcher may have to download them first.
const startupOfLaunchers = time.Minute

// Import reads the JSON in which other tools keep their servers: {"mcpServers": {...}},
// {"servers": {...}} with comments, trailing commas and inputs, {"mcp": {"servers": {...}}},
// and {"servers": [{"name": ...}]}.
//
// Values don't come along: each literal value of env, each header and each secret among
// the arguments becomes the name of a variable, which Variables tells.
func Import(data []byte, opts *ImportOptions) (*Imported, error) {
	if opts == nil {
		opts = &ImportOptions{}
	}
	if len(data) > MaxFile {
		return nil, fmt.Errorf("config: import: more than %d bytes", MaxFile)
	}
	text := relaxed(data)
	var raw json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("config: import: this is no JSON: %w", jsonPlace(text, err))
	}
	i := &importer{inputs: map[string]string{}, aliases: map[string]bool{}, literals: map[string]string{}}
	list, err := i.find(raw, true)
	if err != nil {
		return nil, fmt.Errorf("config: import: %w", err)
	}
	for _, m := range list {
		if len(opts.Names) == 0 || slices.Contains(opts.Names, m.key) {
			i.add(m)
		}
	}
	for _, name := range opts.Names {
		if !slices.ContainsFunc(list, func(m member) bool { return m.key == name }) {
			return nil, fmt.Errorf("config: import: there is no server %q", clip(name))
		}
	}
	return &i.Imported, nil
}

// importer collects servers and what is to be told about them.
type importer struct {
	Imported
	inputs   map[string]string // descriptions of what is asked for, by id
	aliases  map[string]bool
	literals map[string]string // which literal value a variable stands for already
}

// find returns the servers by name, whatever form they are kept in.
func (i *importer) find(raw json.RawMessage, outermost bool) ([]member, error) {
	top, err := members(raw)
	if err != nil {
		return nil, err
	}
	var found json.RawMessage
	for _, m := range top {
		switch m.key {
		case "mcpServers", "servers":
			found = m.value
		case "inputs":
			i.readInputs(m.value)
		case "mcp":
			if found == nil && outermost {
				return i.find(m.value, false)
			}
		}
	}
	switch {
	case found == nil:
		return nil, errors.New("there is neither mcpServers nor servers in it")
	case found[0] == '[':
		return named(found)
	}
	return members(found)
}

func (i *importer) readInputs(raw json.RawMessage) {
	var inputs []struct{ ID, Description string }
	if json.Unmarshal(raw, &inputs) == nil {
		for _, input := range inputs {
			i.inputs[input.ID] = input.Description
		}
	}
}

// named turns a list of servers with names into members.
func named(raw json.RawMessage) ([]member, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	var found []member
	for n, item := range list {
		var entry struct{ Name string }
		if err := json.Unmarshal(item, &entry); err != nil || entry.Name == "" {
			return nil, fmt.Errorf("server %d of the list has no name", n+1)
		}
		found = append(found, member{key: entry.Name, value: item})
	}
	return found, nil
}

func (i *importer) note(name, format string, args ...any) {
	if literal(name) {
		name = "a server"
	}
	i.Notes = append(i.Notes, clip(name)+": "+fmt.Sprintf(format, args...))
}

// add turns one entry into a server, or notes why it can't.
func (i *importer) add(m member) {
	e, err := i.entry(m)
	if err != nil {
		i.note(m.key, "left out: %v", err)
		return
	}
	before := i.Imported
	e.alias = i.alias(m.key)
	server, err := e.server()
	if err == nil {
		err = acceptable(server)
	}
	if err != nil {
		i.Imported = before
		delete(i.aliases, e.alias)
		i.note(m.key, "left out: %v", err)
		return
	}
	if e.alias != m.key {
		i.note(m.key, "its alias here is %s", e.alias)
	}
	i.Servers = append(i.Servers, server)
}

// acceptable returns why a file with this server would be wrong.
func acceptable(s *Server) error {
	_, err := Parse("import.yaml", []byte("mcp:\n"+blockServer("  ", "  ", s)))
	var problems *Error
	if errors.As(err, &problems) {
		p := problems.Problems[0]
		return fmt.Errorf("%s: %s", strings.TrimPrefix(p.Path, "mcp."), p.Message)
	}
	return err
}

// alias makes an alias of a name.
func (i *importer) alias(name string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(name) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' {
			b.WriteRune(c)
		} else if !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}
		if b.Len() == 60 {
			break
		}
	}
	base := strings.TrimRight(strings.TrimLeft(b.String(), "-_"), "-")
	if names.CheckAlias(base) != nil || literal(base) {
		base = "server"
	}
	alias := base
	for n := 2; i.aliases[alias]; n++ {
		alias = fmt.Sprintf("%s-%d", base, n)
	}
	i.aliases[alias] = true
	return alias
}
