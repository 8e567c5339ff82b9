package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

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
	meta         []byte // the members that every request's _meta carries, modern only
	server       *mcp.Implementation
	capabilities *mcp.ServerCapabilities
	instructions string
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
	var r mcp.DiscoverResult
	if err := json.Unmarshal(raw, &r); err != nil || !slices.Contains(r.SupportedVersions, modern) {
		return nil, errLegacy
	}
	agreed := *a
	agreed.capabilities, agreed.instructions = r.Capabilities, r.Instructions
	agreed.server = serverInfo(raw)
	p.adopt(&agreed)
	return &agreed, nil
}

func serverInfo(raw json.RawMessage) *mcp.Implementation {
	var r struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	info := new(mcp.Implementation)
	if json.Unmarshal(raw, &r) != nil || json.Unmarshal(r.Meta[mcp.MetaKeyServerInfo], info) != nil {
		return nil
	}
	return info
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
	var r mcp.InitializeResult
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, because(failure(registry.KindUpstreamError, registry.NotSent, "the server's answer to initialize is malformed"), err)
	}
	if !slices.Contains(legacies, r.ProtocolVersion) || pinned != "" && r.ProtocolVersion != pinned {
		return nil, failure(registry.KindUpstreamError, registry.NotSent, "the server speaks protocol %.40q, and %s is wanted", r.ProtocolVersion, want)
	}
	a := &agreement{version: r.ProtocolVersion, server: r.ServerInfo, capabilities: r.Capabilities, instructions: r.Instructions}
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
