package jsonrpcserver

import (
	"cmp"
	"log/slog"
	"time"
)

// Limits that hold where Options states none.
const (
	DefaultMaxMessage       = 1 << 20 // bytes of one message or batch
	DefaultMaxBatch         = 128     // messages in a batch
	DefaultMaxBatchOutput   = 8 << 20 // bytes of all results of a batch
	DefaultMaxInFlight      = 256     // calls of one connection
	DefaultMaxInFlightBytes = 4 << 20 // bytes of the requests of those calls
	DefaultMaxCalls         = 4096    // calls of all connections
	DefaultMaxConnections   = 1024

	DefaultWriteTimeout   = 10 * time.Second // a peer takes no byte for so long
	DefaultIdleTimeout    = 5 * time.Minute  // TCP and HTTP: no message and no call
	DefaultMessageTimeout = 30 * time.Second // all but stdio: from a message's first byte to its last
	DefaultGreetTimeout   = 10 * time.Second // TCP: until the peer is authenticated
	DefaultGrace          = 10 * time.Second // what runs may finish in this time when the server stops
)

// Bounds that are not adjustable.
const (
	maxUnread   = 4 << 20  // bytes of replies that wait to be written, before reading waits too
	maxSurplus  = 3 << 20  // bytes of those that answer no call, on all connections, before reading waits
	ownSurplus  = 1 << 10  // of which each connection may have so many
	writerCost  = 4 << 10  // what a connection's writer takes that waits, counted with them
	maxProgress = 64 << 10 // bytes of progress that wait to be written
	maxAttempts = 3        // wrong tokens on one connection
	maxGreeting = 4 << 10  // bytes of a message before the peer is authenticated
	largePiece  = 16 << 10 // results from this size on are not copied
	writePiece  = 256 << 10
	lingerTime  = time.Second // for a peer to read why it is cut off
	maxLinger   = 1 << 20     // bytes that it may still send meanwhile
	closeDelay  = time.Second // for cancelled calls to be answered when the server stops
)

// Options are optional settings of a Server. Nil and zero fields mean defaults.
type Options struct {
	// MaxMessage bounds a message or batch in bytes.
	MaxMessage int
	// MaxBatch bounds the number of messages in a batch, MaxBatchOutput the bytes of their results.
	MaxBatch       int
	MaxBatchOutput int
	// MaxInFlight bounds the calls in flight on one connection, MaxInFlightBytes their requests.
	MaxInFlight      int
	MaxInFlightBytes int
	// MaxCalls bounds the calls in flight on all connections. MaxConnections bounds those over
	// a network, those on unix sockets, which nobody else can take the places of, and
	// the requests over HTTP/2 that run no call, beyond one of each connection.
	MaxCalls       int
	MaxConnections int

	WriteTimeout   time.Duration
	IdleTimeout    time.Duration
	MessageTimeout time.Duration
	GreetTimeout   time.Duration
	Grace          time.Duration

	// Title and Version describe the service in the document of rpc.discover.
	Title   string
	Version string
	// Logger is told of connections, refusals and failures; nil for none.
	Logger *slog.Logger
}

// withDefaults returns a copy without zero fields.
func (o *Options) withDefaults() Options {
	var opts Options
	if o != nil {
		opts = *o
	}
	opts.MaxMessage = positive(opts.MaxMessage, DefaultMaxMessage)
	opts.MaxBatch = positive(opts.MaxBatch, DefaultMaxBatch)
	opts.MaxBatchOutput = positive(opts.MaxBatchOutput, DefaultMaxBatchOutput)
	opts.MaxInFlight = positive(opts.MaxInFlight, DefaultMaxInFlight)
	opts.MaxInFlightBytes = positive(opts.MaxInFlightBytes, DefaultMaxInFlightBytes)
	opts.MaxCalls = positive(opts.MaxCalls, DefaultMaxCalls)
	opts.MaxConnections = positive(opts.MaxConnections, DefaultMaxConnections)
	opts.WriteTimeout = positive(opts.WriteTimeout, DefaultWriteTimeout)
	opts.IdleTimeout = positive(opts.IdleTimeout, DefaultIdleTimeout)
	opts.MessageTimeout = positive(opts.MessageTimeout, DefaultMessageTimeout)
	opts.GreetTimeout = positive(opts.GreetTimeout, DefaultGreetTimeout)
	opts.Grace = positive(opts.Grace, DefaultGrace)
	opts.Title = cmp.Or(opts.Title, "Cupule service")
	opts.Version = cmp.Or(opts.Version, "0.0.0")
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return opts
}

func positive[T int | time.Duration](value, otherwise T) T {
	if value > 0 {
		return value
	}
	return otherwise
}
