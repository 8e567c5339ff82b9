package mcpclient

import "time"

// The bounds that have no key in the configuration.
const (
	// MaxCatalogPages, MaxCatalogEntries and MaxCatalogBytes bound one list of tools,
	// resources, templates or prompts.
	MaxCatalogPages   = 64
	MaxCatalogEntries = 1_000
	MaxCatalogBytes   = 4 << 20
	// MaxDefinition bounds the definition of one tool, resource, template or prompt; a larger
	// one can't be used.
	MaxDefinition = 128 << 10
	// MaxControlBytes bounds an answer of the negotiation.
	MaxControlBytes = 256 << 10
	// FrameOverhead is how much a frame may hold beside the result in it, and the largest
	// notification or request of a server that is read.
	FrameOverhead = 64 << 10
	// MaxDiscard is how far one oversized frame is read on, beyond what it may hold, before
	// the session ends.
	MaxDiscard = 64 << 20
	// MaxQueued is how many notifications wait in a subscription; more are dropped and counted.
	MaxQueued = 256
	// MaxProgress is how many reports of progress wait for one call; more are dropped.
	MaxProgress = 64
	// MaxSubscribed is how many resources one session is subscribed to.
	MaxSubscribed = 64
	// MaxQueuedBytes bounds what waits in one subscription.
	MaxQueuedBytes = 1 << 20
	// MaxWaiting is how many calls wait for a server with a bound on its concurrency, its own or
	// that of its children.
	MaxWaiting = 256
	// MaxMessage is how many bytes of a server's own text an error shows.
	MaxMessage = 512
	// MaxClosing is how many sessions with one server are given time to end behind their
	// callers' backs; any more are ended at once.
	MaxClosing = 16
	// MaxProbe bounds how long a server may stay silent on the probe for the newest
	// protocol; it is also at most a quarter of the server's startup.
	MaxProbe = 2 * time.Second
	// MaxRetryAfter is the longest wait that a server's Retry-After is taken for.
	MaxRetryAfter = time.Hour
	// CloseBudget bounds the end of a session.
	CloseBudget = 750 * time.Millisecond
	// DefaultIdle is how long a warm session waits before it is replaced.
	DefaultIdle = 5 * time.Minute
)

// firstID is the first request id of a session. Ids grow from here: they stay apart from
// those that others use, and some servers read ids as 32 bits.
const firstID = 1 << 30

// maxDepth is the deepest nesting of a message that is read.
const maxDepth = 512
