//go:build unix

package jsonrpcserver

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cupule/cupule/registry"
)

func TestSocketMode(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	path := socketPath(t)
	l := listen(t, newServer(t, Backend{}, nil), Endpoint{Scheme: "unix", Address: path})
	info, err := os.Lstat(l.Addr().String())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

func TestStaleSocket(t *testing.T) {
	s := newServer(t, Backend{}, nil)
	path := socketPath(t)
	stale, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	stale.(*net.UnixListener).SetUnlinkOnClose(false)
	if l, err := s.Listen(t.Context(), Endpoint{Scheme: "unix", Address: path}); err == nil {
		l.Close()
		t.Error("a socket that answers was replaced")
	}
	stale.Close()
	l := listen(t, s, Endpoint{Scheme: "unix", Address: path})
	dial(t, l, false).call(callEcho, `{"jsonrpc":"2.0","result":null,"id":1}`)
	file := filepath.Join(filepath.Dir(path), "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Listen(t.Context(), Endpoint{Scheme: "unix", Address: file}); err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Error(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "precious" {
		t.Error("a file was replaced")
	}
}

// Of several servers that find the same stale file, one takes it.
func TestStaleSocketRace(t *testing.T) {
	s := newServer(t, Backend{}, nil)
	for range 20 {
		path := socketPath(t)
		stale, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		stale.(*net.UnixListener).SetUnlinkOnClose(false)
		stale.Close()
		won := make([]*Listener, 4)
		var all sync.WaitGroup
		for i := range won {
			all.Go(func() { won[i], _ = s.Listen(t.Context(), Endpoint{Scheme: "unix", Address: path}) })
		}
		all.Wait()
		n := 0
		for _, l := range won {
			if l != nil {
				n++
				l.Close()
			}
		}
		if n != 1 {
			t.Fatalf("%d servers listen", n)
		}
	}
}

// A closed listener leaves a file alone that another has put in its place.
func TestSocketOfAnotherStays(t *testing.T) {
	s := newServer(t, Backend{}, nil)
	path := socketPath(t)
	l, err := s.Listen(t.Context(), Endpoint{Scheme: "unix", Address: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l.Close()
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// observed keeps the events.
type observed struct{ events chan registry.Event }

func (o observed) Observe(_ context.Context, e registry.Event) { o.events <- e }

func TestPeerInEvents(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("no peer credentials here")
	}
	o := observed{make(chan registry.Event, 1)}
	reg, err := registry.New(operations(), &registry.Options{Observer: o})
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, listen(t, newServer(t, Backend{Registry: reg}, nil), Endpoint{Scheme: "unix", Address: socketPath(t)}), false)
	c.call(callEcho, `{"jsonrpc":"2.0","result":null,"id":1}`)
	e := <-o.events
	if want := fmt.Sprintf("pid %d uid %d", os.Getpid(), os.Getuid()); e.Peer != want || e.Invocation.Principal() != "local" || e.Invocation.Origin() != "unix" {
		t.Errorf("%q, want %q; %s via %s", e.Peer, want, e.Invocation.Principal(), e.Invocation.Origin())
	}
}

// Whoever can read a folder can hold its lock, and can't keep the server from starting.
func TestHeldLock(t *testing.T) {
	t.Parallel()
	path := socketPath(t)
	unlock, err := lockFolder(t.Context(), filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	l := listen(t, newServer(t, Backend{}, nil), Endpoint{Scheme: "unix", Address: path})
	dial(t, l, false).call(callEcho, `{"jsonrpc":"2.0","result":null,"id":1}`)
}

// A folder that may be written and not read is enough for a socket.
func TestFolderThatCannotBeRead(t *testing.T) {
	path := socketPath(t)
	if err := os.Chmod(filepath.Dir(path), 0o300); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Dir(path), 0o700)
	l := listen(t, newServer(t, Backend{}, nil), Endpoint{Scheme: "unix", Address: path})
	dial(t, l, false).call(callEcho, `{"jsonrpc":"2.0","result":null,"id":1}`)
}
