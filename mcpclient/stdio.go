package mcpclient

import (
	"errors"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/internal/proc"
	"github.com/cupule/cupule/registry"
)

// startChild starts a server as a child process, for calls with these effects.
func startChild(s *config.Server, v *variables, allowed effects.Set, n *notes) (*conn, error) {
	path, err := lookPath(s.Stdio.Command)
	if err != nil {
		e := failure(registry.KindUnavailable, registry.NotSent, "server %s could not start: its command was not found", s.Alias)
		return nil, because(e, err)
	}
	spec := proc.Spec{Name: s.Alias, Path: path, Args: s.Stdio.Args, Dir: s.Stdio.Dir, Effects: allowed}
	for _, name := range slices.Sorted(maps.Keys(v.env)) {
		spec.Env = append(spec.Env, name+"="+string(v.env[name]))
		spec.Secrets = append(spec.Secrets, string(v.env[name]))
	}
	p, err := proc.Start(spec)
	if err != nil {
		return nil, startFailed(s.Alias, err)
	}
	return newConn(p, p.Stdin(), p.Stdout(), v.masker(), n), nil
}

// lookPath returns the file of a command: looked up on PATH where it has no slash.
func lookPath(command string) (string, error) {
	if strings.ContainsRune(command, '/') || filepath.IsAbs(command) {
		return command, nil
	}
	return exec.LookPath(command)
}

func startFailed(alias string, err error) error {
	reason := "could not start"
	var start *proc.StartError
	if errors.As(err, &start) {
		reason = string(start.Reason)
	}
	e := failure(registry.KindUnavailable, registry.NotSent, "server %s could not start: its command %s", alias, reason)
	return because(e, err)
}
