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
	a.reloading.Lock()
	defer a.reloading.Unlock()
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
	released, err := a.swap(next)
	if err != nil {
		return errors.Join(err, next.client.Close())
	}
	renew()
	if a.moved() {
		a.opts.Logger.Warn("the listeners of the new configuration differ: they take effect at the next start")
	}
	a.retiring.Go(func() { a.retire(released) })
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

// swap puts a new generation in place. It returns a function that waits until the server
// has no call on the old one, and ends that.
func (a *App) swap(next *generation) (func(context.Context) error, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.current
	wait := func(context.Context) error { return nil }
	if a.server != nil {
		var err error
		if wait, err = a.server.Swap(a.backend(next)); err != nil {
			return nil, err
		}
	}
	a.current = next
	return func(ctx context.Context) error { return errors.Join(wait(ctx), old.retire(ctx)) }, nil
}

// retire ends an old generation when its calls have, or when the App is closed.
func (a *App) retire(released func(context.Context) error) {
	if err := released(a.closing); err != nil && a.closing.Err() == nil {
		a.opts.Logger.Error("an old configuration could not be released", "error", err)
	}
}
