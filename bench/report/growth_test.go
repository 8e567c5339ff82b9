package main

import (
	"os"
	"testing"

	"github.com/cupule/cupule/registry"
)

func grown(t *testing.T, n int) *registry.Registry {
	t.Helper()
	r, err := registry.New(many(n, true), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestManyOperationsWithAndWithoutSchemas(t *testing.T) {
	for _, schemas := range []bool{true, false} {
		list := many(3, schemas)
		for i, op := range list {
			if (op.Params != nil) != schemas {
				t.Errorf("%s: a schema %s, want %v", op.Name, op.Params, schemas)
			}
			if i > 0 && schemas && string(op.Params) == string(list[0].Params) {
				t.Errorf("%s shares a schema", op.Name)
			}
		}
		if err := openWith(list); err != nil {
			t.Error(err)
		}
	}
}

func TestReadThrough(t *testing.T) {
	r := grown(t, 5)
	if err := readThrough(r, 5); err != nil {
		t.Error(err)
	}
	if readThrough(r, 6) == nil {
		t.Error("a missing operation was not missed")
	}
}

func TestDiscoverer(t *testing.T) {
	dir, err := os.MkdirTemp("", "d") // short, for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l := &lab{dir: dir, ctx: t.Context()}
	for promised, well := range map[int]bool{7: true, 8: false} {
		d, err := l.discoverer(grown(t, 7), promised)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := d.ask(); (err == nil) != well {
				t.Errorf("7 operations where %d are wanted: %v", promised, err)
			}
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestDescribesWantsADocument(t *testing.T) {
	for text, well := range map[string]bool{
		`{"result":{"methods":[{"name":"bench.a"}]}}`:                    true,
		`{"result":{"methods":[{"name":"bench.a"},{"name":"bench.b"}]}}`: false,
		`{"result":{"methods":[{"name":"other"}]}}`:                      false,
		`{"error":{"code":1}}`:                                           false,
		`{`:                                                              false,
	} {
		if err := describes(1)([]byte(text)); (err == nil) != well {
			t.Errorf("%s: %v", text, err)
		}
	}
}
