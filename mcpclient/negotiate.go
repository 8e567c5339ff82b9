package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cupule/cupule/internal/strictjson"
	"github.com/cupule/cupule/registry"
)

// The revisions of the protocol. From modern on, there is no handshake: each request says
// what it speaks. Before, a session begins with initialize.
const (
	modern = "2026-07-28"
	legacy = "2025-11-25"
)

// legacies are the older revisions that a server may answer with.
var legacies = []string{legacy, "2025-06-18", "2025-03-26", "2024-11-05"}

// agreement is what client and server have agreed on. It is not changed once adopted.
type agreement struct {
	version      string
	modern       bool
	meta         []byte          // the members that every request's _meta carries, modern only
	server       json.RawMessage // as it came, or nil: decoding it takes many times its size
	capabilities json.RawMessage // likewise
	instructions string
}

// info returns what the server says of itself, or nil.
func (a *agreement) info() *mcp.Implementation { return decoded[mcp.Implementation](a.server) }

// able returns what the server says that it can do, or nil.
func (a *agreement) able() *mcp.ServerCapabilities {
	return decoded[mcp.ServerCapabilities](a.capabilities)
}

// can reports whether the server says that it has a feature with this flag.
func (a *agreement) can(feature, flag string) bool {
	return string(memberOf(memberOf(a.capabilities, feature), flag)) == "true"
}

func decoded[T any](raw json.RawMessage) *T {
	v := new(T)
	if raw == nil || json.Unmarshal(raw, v) != nil {
		return nil
	}
	return v
}

// identity is what the client says of itself.
type identity struct{ name, version string }

func (id identity) json() []byte {
	text, _ := json.Marshal(&mcp.Implementation{Name: id.name, Version: id.version})
	return text
}

// modernMeta returns the members of _meta that every modern request carries.
func (id identity) modernMeta(version string) []byte {
	var b bytes.Buffer
	b.WriteString(`"` + mcp.MetaKeyProtocolVersion + `":"` + version + `","` + mcp.MetaKeyClientInfo + `":`)
	b.Write(id.json())
	b.WriteString(`,"` + mcp.MetaKeyClientCapabilities + `":{}`)
	return b.Bytes()
}

var (
	// errSilent says that a server gave no answer to the probe: it needs a fresh session.
	errSilent = errors.New("silent on the probe")
	// errLegacy says that a server does not speak the modern protocol, but answers.
	errLegacy = errors.New("the server does not speak " + modern)
)

// probe asks for the modern protocol, for at most d; zero means as long as ctx lasts.
func probe(ctx context.Context, p peer, id identity, d time.Duration) (*agreement, error) {
	a := &agreement{version: modern, modern: true, meta: id.modernMeta(modern)}
	p.adopt(a)
	short := ctx
	if d > 0 {
		var cancel context.CancelFunc
		short, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	raw, err := p.do(short, control("server/discover", nil))
	if err != nil {
		return nil, probeFailed(ctx, p, err)
	}
	if !speaks(raw, modern) {
		return nil, errLegacy
	}
	agreed := *a
	agreed.describe(raw, memberOf(memberOf(raw, "_meta"), mcp.MetaKeyServerInfo))
	p.adopt(&agreed)
	return &agreed, nil
}

// speaks reports whether the answer to server/discover names this revision.
func speaks(raw json.RawMessage, version string) bool {
	for v := range strictjson.Elements(memberOf(raw, "supportedVersions")) {
		if s, _ := text(v); s == version {
			return true
		}
	}
	return false
}

// describe keeps what a server says of itself in its answer to the handshake.
func (a *agreement) describe(raw, server json.RawMessage) {
	a.server, a.capabilities = server, memberOf(raw, "capabilities")
	a.instructions, _ = text(memberOf(raw, "instructions"))
}

// probeFailed tells servers that need a fresh session from those that can go on with an older protocol.
func probeFailed(ctx context.Context, p peer, err error) error {
	e := asError(err)
	var status *statusError
	switch {
	case ctx.Err() != nil:
		return ended(ctx, registry.NotSent)
	case errors.As(err, &status) && status.final():
		return err
	case (e.Kind == registry.KindUpstreamError || e.Kind == registry.KindOutcomeUnknown) && p.alive():
		return errLegacy
	case e.Kind == registry.KindTimeout || !p.alive():
		return errSilent
	default:
		return err
	}
}

// initialize begins a session in an older revision: the pinned one, or the newest that both speak.
func initialize(ctx context.Context, p peer, id identity, pinned string) (*agreement, error) {
	p.adopt(&agreement{})
	want := pinned
	if want == "" {
		want = legacy
	}
	raw, err := p.do(ctx, control("initialize", func(dst []byte) []byte {
		dst = append(dst, `"protocolVersion":"`+want+`","capabilities":{},"clientInfo":`...)
		return append(dst, id.json()...)
	}))
	if err != nil {
		return nil, err
	}
	version, ok := text(memberOf(raw, "protocolVersion"))
	if !ok {
		return nil, failure(registry.KindUpstreamError, registry.NotSent, "the server's answer to initialize is malformed: it has no protocolVersion")
	}
	if !slices.Contains(legacies, version) || pinned != "" && version != pinned {
		return nil, failure(registry.KindUpstreamError, registry.NotSent, "the server speaks protocol %.40q, and %s is wanted", version, want)
	}
	a := &agreement{version: version}
	a.describe(raw, memberOf(raw, "serverInfo"))
	p.adopt(a)
	return a, p.notify(ctx, "notifications/initialized", "")
}

// control makes a request of the client's own.
func control(method string, params func([]byte) []byte) *request {
	return &request{
		method: method, params: params, limit: MaxControlBytes,
		output: registry.Limit{Name: "negotiation", Whose: "the client", Bytes: MaxControlBytes},
	}
}
