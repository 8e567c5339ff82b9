package config

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/cupule/cupule/effects"
)

// Load reads and checks a file. It returns an *Error with every problem, or the error of
// the file system.
func Load(file string) (*Config, error) {
	data, err := readFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(file, data)
}

// readFile returns at most one byte more than a configuration may have.
func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return data, nil
}

// Parse checks a configuration that was read already. Name stands for the file in
// problems, and relative paths start from its folder. The error is an *Error.
func Parse(name string, data []byte) (*Config, error) {
	source, problems := newSource(name, data)
	if problems != nil {
		return nil, &Error{Problems: problems}
	}
	root, problems := source.parse()
	if root == nil {
		return nil, &Error{Problems: problems}
	}
	b := &builder{reader: reader{source: source, problems: problems}, cfg: &Config{File: name, Dir: folder(name), places: map[string]effects.Position{}}}
	tree := b.read(root, file, "")
	b.build(tree)
	tree.placesTo(b.cfg.places)
	if len(b.problems) > 0 {
		return nil, &Error{Problems: sorted(b.problems)}
	}
	return b.cfg, nil
}

// folder returns the absolute path of the folder that a file is in.
func folder(name string) string {
	absolute, err := filepath.Abs(name)
	if err != nil {
		return filepath.Dir(name)
	}
	return filepath.Dir(absolute)
}
