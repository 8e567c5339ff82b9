package registry

import (
	"context"
	"log/slog"

	"github.com/cupule/cupule/effects"
)

// LogObserver returns an observer that writes one record for each call: at level Info
// when it succeeded, Warn when it failed, Error when the service itself is at fault.
func LogObserver(logger *slog.Logger) Observer { return logObserver{logger} }

type logObserver struct{ logger *slog.Logger }

func (o logObserver) Observe(ctx context.Context, e Event) {
	level := slog.LevelInfo
	if e.Err != nil {
		level = slog.LevelWarn
		if e.Err.Kind == KindInternal {
			level = slog.LevelError
		}
	}
	if !o.logger.Enabled(ctx, level) {
		return
	}
	o.logger.LogAttrs(ctx, level, "call", attributes(e)...)
}

func attributes(e Event) []slog.Attr {
	list := []slog.Attr{
		slog.String("kind", e.Subject.Kind.String()),
		slog.String("name", e.Subject.Name),
		slog.String("outcome", e.Outcome()),
		slog.String("principal", e.Invocation.Principal()),
		slog.String("origin", e.Invocation.Origin()),
		slog.Duration("duration", e.Duration),
		slog.Int("params_bytes", e.ParamsBytes),
		slog.Int("result_bytes", e.ResultBytes),
	}
	if e.Peer != "" {
		list = append(list, slog.String("peer", e.Peer))
	}
	if within := e.Invocation.Operation(); within != "" {
		list = append(list, slog.String("within", within))
	}
	if e.IsError {
		list = append(list, slog.Bool("is_error", true))
	}
	if e.Err != nil {
		list = append(list, failure(e.Err)...)
	}
	return list
}

func failure(err *Error) []slog.Attr {
	list := []slog.Attr{slog.String("error", err.Error())}
	if err.Ran != "" {
		list = append(list, slog.String("ran", string(err.Ran)))
	}
	if err.Phase != "" {
		list = append(list, slog.String("phase", err.Phase))
	}
	if len(err.Reasons) > 0 {
		list = append(list, slog.String("reasons", effects.Decision{Reasons: err.Reasons}.String()))
	}
	return list
}
