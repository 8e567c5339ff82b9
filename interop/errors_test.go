package interop

import (
	"errors"
	"testing"

	"github.com/cupule/cupule/registry"
)

func wantError(t *testing.T, err error, kind registry.Kind, ran registry.Ran) *registry.Error {
	t.Helper()
	var e *registry.Error
	if !errors.As(err, &e) {
		t.Fatalf("want %s, got %v", kind, err)
	}
	if e.Kind != kind || e.Ran != ran {
		t.Fatalf("want %s, %s; got %s, %s: %v", kind, ran, e.Kind, e.Ran, e)
	}
	return e
}
