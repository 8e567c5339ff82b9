package main

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"
)

// TestAnInterruptedRunLeavesNothing ends a run while it builds, and while contestants run.
func TestAnInterruptedRunLeavesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds all contestants")
	}
	t.Chdir("..")
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	if os.Getenv("GOCACHE") == "" {
		t.Setenv("GOCACHE", cache+"/go-build") // as without the folder below
	}
	for name, after := range map[string]time.Duration{"before it began": 0, "while it builds": 10 * time.Millisecond, "while it measures": 4 * time.Second} {
		dir := t.TempDir()
		t.Setenv("TMPDIR", dir)
		ctx, cancel := context.WithTimeout(t.Context(), after)
		defer cancel()
		if err := run(ctx, settings{only: "outbound"}, io.Discard); !errors.Is(err, errInterrupted) {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v, %v", name, left, err)
		}
	}
}

func TestErrorsOfARunThatNobodyInterrupted(t *testing.T) {
	broken := errors.New("broken")
	if err := interrupted(t.Context(), broken); !errors.Is(err, broken) {
		t.Error(err)
	}
}
