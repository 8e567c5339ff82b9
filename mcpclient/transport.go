package mcpclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cupule/cupule/internal/proc"
	"github.com/cupule/cupule/registry"
)

// DefaultMaxFrame is how long a frame may be that a Transport reads, where it doesn't say.
const DefaultMaxFrame = 16 << 20

// Transport starts a server as a child process and carries messages to and from it. It
// is for an mcp.Client of the go-sdk, or for no client at all: Connect gives a connection to write
// requests to and to read responses from.
//
// A frame that is too long is discarded as it comes, and an error response is read in its
// place; lines that are no messages are skipped; notifications beyond 1,000 at once and 100 a
// second are dropped. The child is ended with its whole process group by Close,
// within CloseBudget.
type Transport struct {
	// Command is the program: with a slash as it stands, else looked up on PATH. There is no shell.
	Command string
	Args    []string
	// Dir is the folder to run in; empty means that of this process.
	Dir string
	// Env is the complete environment, as NAME=value. Nil means an empty one.
	Env []string
	// MaxFrame is how long a frame may be, in bytes; zero means DefaultMaxFrame.
	MaxFrame int
}

const (
	// notificationBurst is how many notifications may come at once, and notificationRate how
	// many in a second after that.
	notificationBurst = 1_000
	notificationRate  = 100
)

// Connect starts the child. The context bounds nothing that comes after.
func (t *Transport) Connect(context.Context) (mcp.Connection, error) {
	path, err := lookPath(t.Command)
	if err != nil {
		return nil, err
	}
	p, err := proc.Start(proc.Spec{Path: path, Args: t.Args, Dir: t.Dir, Env: t.Env})
	if err != nil {
		return nil, err
	}
	limit := t.MaxFrame
	if limit <= 0 {
		limit = DefaultMaxFrame
	}
	return newBare(p, p.Stdin(), p.Stdout(), limit), nil
}

// bare is a connection without a client of ours.
type bare struct {
	*pipe
	limit    int
	incoming chan jsonrpc.Message
	budget   budget
	dropped  atomic.Int64
	end      error // set before ended is closed
}

func newBare(c child, stdin io.WriteCloser, stdout io.Reader, limit int) *bare {
	b := &bare{pipe: newPipe(c, stdin, stdout, nil), limit: limit, incoming: make(chan jsonrpc.Message, 16)}
	b.start(b, stdout)
	return b
}

// Read returns the next message. When the child has gone, its error wraps io.EOF.
func (b *bare) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-b.incoming:
		return m, nil
	default:
	}
	select {
	case m := <-b.incoming:
		return m, nil
	case <-b.ended:
		select {
		case m := <-b.incoming:
			return m, nil
		default:
			return nil, b.end
		}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Write queues a message. It waits for room while ctx lasts, not for the child to read.
func (b *bare) Write(ctx context.Context, m jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	return b.out.put(ctx, &parcel{buf: &line})
}

// Close ends the child.
func (b *bare) Close() error {
	b.close(false)
	return nil
}

// SessionID returns "": a child has one session.
func (b *bare) SessionID() string { return "" }

func (b *bare) frameLimit() int { return b.limit }

func (b *bare) lineRead() {}

func (b *bare) drop() { b.dropped.Add(1) }

func (b *bare) gone(err error, how string) {
	if errors.Is(err, io.ErrUnexpectedEOF) || !lost(err) {
		err = io.EOF
	}
	b.end = fmt.Errorf("the server has gone (%s): %w", how, err)
	if tail := b.child.Stderr(); tail != "" {
		b.end = fmt.Errorf("%w; its standard error ends with: %s", b.end, tail)
	}
}

func (b *bare) tooLarge(number int64) bool {
	id, err := jsonrpc.MakeID(float64(number))
	if err != nil {
		return false
	}
	b.deliver(&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
		Code: registry.KindOutputTooLarge.Code(), Message: fmt.Sprintf("the answer is longer than %d bytes", b.limit),
	}})
	return true
}

// message turns a message into the go-sdk's. What has no valid id or form is skipped, and an
// answer that is no valid response becomes an error for its request.
func (b *bare) message(m *message, line []byte, owned bool) {
	if m.id == nil && m.method != nil && m.problem == "" && !b.budget.spend(time.Now()) {
		b.drop()
		return
	}
	if !owned {
		line = bytes.Clone(line)
	}
	id, ok := anyID(m.id)
	msg, err := jsonrpc.DecodeMessage(line)
	_, _, problem := m.answer()
	switch {
	case m.method == nil && ok && problem != "":
		b.deliver(&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: registry.KindUpstreamError.Code(), Message: "the answer is no valid response: " + problem}})
	case m.problem != "", m.id != nil && !ok, m.id == nil && m.method == nil, err != nil:
		b.stray.add(b.mask, line)
	default:
		b.deliver(msg)
	}
}

// anyID returns an id that is a whole number or a string.
func anyID(raw []byte) (id jsonrpc.ID, ok bool) {
	var value any
	if number, whole := ownID(raw); whole || string(raw) == "0" {
		value = float64(number)
	} else if value, ok = text(raw); !ok {
		return id, false
	}
	id, err := jsonrpc.MakeID(value)
	return id, err == nil && id.IsValid()
}

// deliver hands a message to Read, and waits until it is taken, so that the child is read no
// faster than that.
func (b *bare) deliver(m jsonrpc.Message) {
	select {
	case b.incoming <- m:
	case <-b.out.stop:
	}
}

// budget is how many notifications may still come now.
type budget struct {
	left float64
	at   time.Time
}

func (b *budget) spend(now time.Time) bool {
	if b.at.IsZero() {
		b.left = notificationBurst
	} else {
		b.left = min(b.left+now.Sub(b.at).Seconds()*notificationRate, notificationBurst)
	}
	b.at = now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}
