package config

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A reader sees the file as it was or as it becomes, never in between.
func TestFileIsWholeAtEveryMoment(t *testing.T) {
	file := write(t, "mcp:\n  z: {stdio: {command: z}}\n#"+strings.Repeat("x", 100_000)+"\n")
	done := make(chan error, 1)
	go func() {
		for range 20 {
			if err := edit(file, []string{"add", "a"}); err != nil {
				done <- err
				return
			}
			if err := edit(file, []string{"remove", "a"}); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for reads := 0; ; reads++ {
		select {
		case err := <-done:
			if err != nil || reads == 0 {
				t.Errorf("%d reads, %v", reads, err)
			}
			return
		default:
			if cfg, err := Load(file); err != nil || cfg.MCP["z"] == nil {
				t.Fatalf("half a file: %v", err)
			}
		}
	}
}

// Nothing stays open, whether an edit works or is refused.
func TestNothingLeft(t *testing.T) {
	descriptors := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(entries)
	}
	file := write(t, "mcp: {}\n")
	missing := filepath.Join(filepath.Dir(file), "missing.yaml")
	run := func() {
		_ = edit(file, []string{"add", "a"})
		_ = edit(file, []string{"add", "a"})
		_ = edit(file, []string{"add-wrong", "b"})
		_ = edit(file, []string{"remove", "b"})
		_ = edit(file, []string{"remove", "a"})
		_ = edit(missing, []string{"remove", "a"})
		_, _ = Load(missing)
		_, _ = Load(filepath.Dir(file))
	}
	run()
	before, goroutines := descriptors(), runtime.NumGoroutine()
	for range 10 {
		run()
	}
	if after := descriptors(); after > before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
	if after := runtime.NumGoroutine(); after > goroutines {
		t.Errorf("%d goroutines, %d before", after, goroutines)
	}
	alone(t, file)
}
