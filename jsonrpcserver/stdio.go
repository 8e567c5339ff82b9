package jsonrpcserver

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// stdio is a pipe of two ends that belong to someone else.
type stdio struct {
	in  io.Reader
	out io.Writer
}

func (p stdio) Read(b []byte) (int, error)  { return p.in.Read(b) }
func (p stdio) Write(b []byte) (int, error) { return p.out.Write(b) }

// Close wakes a reader where that is possible. The ends stay open.
func (p stdio) Close() error { return p.SetReadDeadline(time.Unix(1, 0)) }

func (p stdio) SetReadDeadline(t time.Time) error {
	if in, ok := p.in.(interface{ SetReadDeadline(time.Time) error }); ok {
		return in.SetReadDeadline(t)
	}
	return os.ErrNoDeadline
}

func (p stdio) SetWriteDeadline(t time.Time) error {
	if out, ok := p.out.(interface{ SetWriteDeadline(time.Time) error }); ok {
		return out.SetWriteDeadline(t)
	}
	return os.ErrNoDeadline
}

// ServeStdio serves the parent process, as the caller named LocalCaller, until in ends and
// everything is answered, or until ctx ends, as ServeConn does. Nothing else may write
// to out. A read that can't be interrupted, as on most terminals and pipes of a parent,
// is left behind when ctx ends: the process is about to exit then. An error tells of a
// parent that let a reply wait past the write deadline.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	if !s.enter() {
		return ErrClosed
	}
	defer s.live.Done()
	s.local.Add(1)
	defer s.local.Add(-1)
	st := s.newStream(ctx, stdio{in, out}, identity{name: LocalCaller, origin: "stdio"}, "parent", untimed)
	s.serveStream(ctx, st, func() {
		go st.run()
		<-st.closed
	})
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.stalled {
		return errors.New("the parent took nothing for too long: a reply is cut short")
	}
	return nil
}

// isNoDeadline reports that a pipe knows no deadlines.
func isNoDeadline(err error) bool { return errors.Is(err, os.ErrNoDeadline) }
