//go:build unix

package jsonrpcserver

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestListenUnixRefuses: what can't become a socket is said, and no file is left or lost.
func TestListenUnixRefuses(t *testing.T) {
	folder := filepath.Dir(socketPath(t))
	file, link := filepath.Join(folder, "file"), filepath.Join(folder, "link")
	if err := errors.Join(os.WriteFile(file, []byte("keep"), 0o600), os.Symlink(file, link)); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, path, word string
	}{
		{"no folder", filepath.Join(folder, "none", "s"), "no such file"},
		{"a file in the way of the folder", filepath.Join(file, "s"), "not a directory"},
		{"a file", file, "is no socket"},
		{"a folder", folder + "/.", "is no socket"},
		{"a link to a file", link, "is no socket"},
		{"a path that is too long", filepath.Join(folder, strings.Repeat("x", 150)), "invalid argument"},
	} {
		l, _, err := listenUnix(t.Context(), row.path)
		if err == nil {
			l.Close()
			t.Errorf("%s: listening", row.name)
			continue
		}
		if !strings.Contains(err.Error(), row.word) {
			t.Errorf("%s: %v", row.name, err)
		}
	}
	if text, err := os.ReadFile(link); err != nil || string(text) != "keep" {
		t.Errorf("the file is %q, %v", text, err)
	}
	if _, err := os.Lstat(filepath.Join(folder, "s")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something is left: %v", err)
	}
}

// Where the context has ended nothing is bound, and a stale file stays.
func TestListenUnixTooLate(t *testing.T) {
	path := socketPath(t)
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	stale.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{path, path + "2"} {
		if l, _, err := listenUnix(ctx, name); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
			l.Close()
		}
	}
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path + "2"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// The file goes with its listener, and no file that took its place.
func TestListenUnixRemovesItsOwn(t *testing.T) {
	path := socketPath(t)
	l, remove, err := listenUnix(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := listenUnix(t.Context(), path); err == nil || !strings.Contains(err.Error(), "another server answers") {
		t.Errorf("a second listener: %v", err)
	}
	defer l.Close() // which keeps the number of the file from being given to another
	remove()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is left: %v", err)
	}
	if err := os.WriteFile(path, []byte("another's"), 0o600); err != nil {
		t.Fatal(err)
	}
	remove()
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("another's file is gone: %v", err)
	}
}
