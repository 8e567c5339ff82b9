package mcpclient

import (
	"context"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/registry"
)

// logLevels are those that the protocol knows.
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// SetLogLevel asks the server for log messages from this level on, such as "info". They come
// as notifications. In the newest protocol each request says so, in older ones the
// server is told once; either way it goes on when the session connects again.
func (s *Session) SetLogLevel(ctx context.Context, level string, inv effects.Invocation) error {
	o := s.client.beginList(s.server.Alias, inv)
	if !slices.Contains(logLevels, level) {
		return o.failed(failure(registry.KindInvalidParams, registry.NotSent, "%.40q is no log level: write one of %v", level, logLevels))
	}
	if err := o.judgeServer(); err != nil {
		return o.failed(err)
	}
	s.mu.Lock()
	s.level = level
	s.mu.Unlock()
	return o.failed(o.run(ctx, s.lend, func(ctx context.Context, l *link) error { return l.setLevel(ctx, level) }))
}

// keepLevel asks a new conversation for the level that the session has.
func (s *Session) keepLevel(l *link) {
	s.mu.Lock()
	level := s.level
	s.mu.Unlock()
	if level == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.server.Startup)
	defer cancel()
	if err := l.setLevel(ctx, level); err != nil {
		s.client.log.Info("a server took no log level", "server", s.server.Alias, "error", err)
	}
}

func (l *link) setLevel(ctx context.Context, level string) error {
	if !l.agreed.modern {
		_, err := l.do(ctx, control("logging/setLevel", func(dst []byte) []byte {
			return append(dst, fmt.Sprintf(`"level":%q`, level)...)
		}))
		return err
	}
	a := *l.agreed
	a.meta = fmt.Appendf(slices.Clone(a.meta), `,%q:%q`, mcp.MetaKeyLogLevel, level)
	l.adopt(&a)
	return nil
}
