package cupule

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/cupule/cupule/config"
)

// Reload reads the file anew, assembles everything from it, and swaps it in at once.
// Calls that run finish under the old rules, on the old sessions. Where the file has a
// problem nothing changes, and the error lists every problem as that of Open does.
//
// The certificates of listeners are read anew too, and are those of connections to come.
// Otherwise listeners stay as they are: a change under serve takes effect at the next start.
func (a *App) Reload(ctx context.Context) error {
	select {
	case a.reloading <- struct{}{}:
		defer func() { <-a.reloading }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := errors.Join(ctx.Err(), a.open()); err != nil {
		return err
	}
	if a.file == "" {
		return errors.New("cupule: an App of OpenConfig has no file to load anew")
	}
	if info, err := os.Stat(a.file); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("cupule: %s is no regular file, so it can't be loaded anew: reading it may never end", a.file)
	}
	cfg, err := config.Load(a.file)
	if err != nil {
		return err
	}
	next, err := a.assemble(cfg)
	if err != nil {
		return err
	}
	renew, err := a.renewal(cfg)
	if err != nil {
		return errors.Join(err, next.client.Close())
	}
	if err := a.swap(next); err != nil {
		return errors.Join(err, next.client.Close())
	}
	renew()
	if a.moved() {
		a.opts.Logger.Warn("the listeners of the new configuration differ: they take effect at the next start")
	}
	return nil
}

// moved reports whether the configuration asks for other listeners than those that are open.
func (a *App) moved() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.server != nil && !slices.EqualFunc(a.serving, a.current.config.Serve.Listen, alike)
}

func (a *App) open() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return ErrClosed
	}
	return nil
}

// swap puts a new generation in place. The old one ends when the server has no call on it.
func (a *App) swap(next *generation) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed { // while the file was being read
		return ErrClosed
	}
	old := a.current
	wait := func(context.Context) error { return nil }
	if a.server != nil {
		var err error
		if wait, err = a.server.Swap(a.backend(next)); err != nil {
			return err
		}
	}
	a.current = next
	a.retiring.Go(func() {
		if err := errors.Join(wait(a.closing), old.retire(a.closing)); err != nil && a.closing.Err() == nil {
			a.opts.Logger.Error("an old configuration could not be released", "error", err)
		}
	})
	return nil
}
