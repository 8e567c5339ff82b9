package registry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

type key struct{}

// TestDeadlineIsAContext compares the lazy context with the one of package context, each
// looked at in every order.
func TestDeadlineIsAContext(t *testing.T) {
	cause := &Error{Kind: KindTimeout}
	for _, look := range []func(context.Context) any{
		func(ctx context.Context) any { return ctx.Err() },
		func(ctx context.Context) any { return context.Cause(ctx) },
		func(ctx context.Context) any { at, ok := ctx.Deadline(); return [2]any{at, ok} },
		func(ctx context.Context) any { return ctx.Value(key{}) },
		func(ctx context.Context) any {
			select {
			case <-ctx.Done():
				return "done"
			default:
				return "running"
			}
		},
		func(ctx context.Context) any {
			child, cancel := context.WithCancel(ctx)
			defer cancel()
			return child.Err()
		},
	} {
		for name, parent := range map[string]func(context.Context) (context.Context, context.CancelFunc){
			"plain": func(ctx context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} },
			"earlier": func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, time.Second)
			},
			"later": func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, time.Hour)
			},
			"cancelled": func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancelCause(ctx)
				cancel(errors.New("x"))
				return ctx, func() {}
			},
		} {
			for _, wait := range []time.Duration{0, 30 * time.Second, 2 * time.Minute} {
				synctest.Test(t, func(t *testing.T) {
					base, cancel := parent(context.WithValue(context.Background(), key{}, "value"))
					defer cancel()
					lazy := &deadline{Context: base, at: time.Now().Add(time.Minute), cause: cause}
					defer lazy.end()
					eager, stop := context.WithDeadlineCause(base, lazy.at, cause)
					defer stop()
					time.Sleep(wait)
					synctest.Wait()
					if got, want := look(lazy), look(eager); !same(got, want) {
						t.Errorf("%s, after %v: got %v, want %v", name, wait, got, want)
					}
				})
			}
		}
	}
}

func same(a, b any) bool {
	x, isErr := a.(error)
	y, _ := b.(error)
	if isErr {
		return y != nil && x.Error() == y.Error()
	}
	return a == b
}

func TestDeadlineEnds(t *testing.T) {
	for _, before := range []bool{false, true} {
		d := &deadline{Context: t.Context(), at: time.Now().Add(time.Hour)}
		if before {
			_ = d.Done()
		}
		d.end()
		<-d.Done()
		if !errors.Is(d.Err(), context.Canceled) {
			t.Errorf("armed before %v: %v", before, d.Err())
		}
	}
}
