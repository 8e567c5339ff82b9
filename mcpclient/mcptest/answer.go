package mcptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The protocol versions that a server speaks.
const (
	modernVersion = "2026-07-28"
	legacyVersion = "2025-11-25"
)

// The keys of the metadata, and the error codes, of the 2026-07-28 revision.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaServer       = "io.modelcontextprotocol/serverInfo"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"

	codeHeaderMismatch     = -32020
	codeUnsupportedVersion = -32022
)

var legacyVersions = []string{legacyVersion, "2025-06-18", "2025-03-26", "2024-11-05"}

// answers are the methods, and how a good server answers them.
var answers = map[string]func(*turn){
	"initialize":               (*turn).initialize,
	"server/discover":          (*turn).discover,
	"ping":                     (*turn).nothing,
	"logging/setLevel":         (*turn).nothing,
	"resources/subscribe":      (*turn).nothing,
	"resources/unsubscribe":    (*turn).nothing,
	"completion/complete":      func(t *turn) { t.result(`{"completion":{"values":[]}}`) },
	"subscriptions/listen":     (*turn).listen,
	"tools/list":               func(t *turn) { listOf(t, "tools", t.script.Tools) },
	"resources/list":           func(t *turn) { listOf(t, "resources", t.script.Resources) },
	"resources/templates/list": func(t *turn) { listOf(t, "resourceTemplates", t.script.Templates) },
	"prompts/list":             func(t *turn) { listOf(t, "prompts", t.script.Prompts) },
	"tools/call":               (*turn).call,
	"resources/read":           (*turn).read,
	"prompts/get":              (*turn).prompt,
}

// answer prepares what a good server answers.
func (t *turn) answer() {
	if !t.msg.isRequest() || t.refused() {
		return
	}
	if do, ok := answers[t.msg.Method]; ok {
		do(t)
		return
	}
	t.refuse(-32601, "method not found: "+t.msg.Method)
}

// refused refuses a request that isn't in order, so that a test sees its client's mistakes.
func (t *turn) refused() bool {
	var params struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(t.msg.Params, &params)
	var version string
	_ = json.Unmarshal(params.Meta[metaVersion], &version)
	t.modern = version != "" && t.script.Speaks != Legacy
	method := t.msg.Method
	switch {
	case method == "server/discover" && t.script.Speaks == Legacy, method == "initialize" && t.script.Speaks == Modern:
		t.refuse(-32601, "method not found: "+method)
	case t.modern && version != modernVersion:
		t.content = fmt.Sprintf(`"error":{"code":%d,"message":"unsupported protocol version","data":{"supported":[%q],"requested":%q}}`, codeUnsupportedVersion, modernVersion, version)
	case t.modern && !bytes.HasPrefix(params.Meta[metaCapabilities], []byte("{")):
		t.refuse(-32602, "missing or invalid _meta field "+metaCapabilities)
	case t.modern && slices.Contains([]string{"initialize", "ping", "logging/setLevel"}, method):
		t.refuse(-32601, method+" is no method of "+modernVersion)
	case !t.modern && !t.ready && method != "initialize" && method != "ping":
		t.refuse(-32600, method+" came before initialize, and without a protocol version")
	default:
		return false
	}
	return true
}

func (t *turn) refuse(code int, text string) {
	t.content = fmt.Sprintf(`"error":{"code":%d,"message":%s}`, code, encode(text))
}

func (t *turn) result(object string) { t.content = `"result":` + t.finished(object) }

func (t *turn) nothing() { t.result("{}") }

// finished adds to a result what the 2026-07-28 revision asks for.
func (t *turn) finished(object string) string {
	rest, ok := strings.CutPrefix(strings.TrimLeft(object, " \t\r\n"), "{")
	if !t.modern || !ok || strings.Contains(object, `"resultType"`) {
		return object
	}
	head := `{"resultType":"complete"`
	if t.cacheable() {
		head += `,"ttlMs":0,"cacheScope":"private"`
	}
	if !strings.Contains(object, `"_meta"`) {
		head += `,"_meta":{"` + metaServer + `":` + t.serverInfo() + `}`
	}
	if strings.TrimSpace(rest) != "}" {
		head += ","
	}
	return head + rest
}

func (t *turn) cacheable() bool {
	return t.msg.Method == "resources/read" || t.msg.Method == "server/discover" || strings.HasSuffix(t.msg.Method, "/list")
}

func (t *turn) serverInfo() string {
	return fmt.Sprintf(`{"name":%s,"version":%s}`, encode(orElse(t.script.Name, "mcptest")), encode(orElse(t.script.Version, "1")))
}

func (t *turn) about() string {
	s := &t.script
	capabilities := s.Capabilities
	if capabilities == nil {
		features := map[string]any{"logging": struct{}{}}
		changing := map[string]bool{"listChanged": true}
		for name, offered := range map[string]bool{
			"tools": len(s.Tools) > 0, "resources": len(s.Resources)+len(s.Templates) > 0, "prompts": len(s.Prompts) > 0,
		} {
			if offered {
				features[name] = changing
			}
		}
		capabilities = encode(features)
	}
	return fmt.Sprintf(`"capabilities":%s,"instructions":%s`, capabilities, encode(s.Instructions))
}

func (t *turn) initialize() {
	var params struct{ ProtocolVersion string }
	_ = json.Unmarshal(t.msg.Params, &params)
	version := legacyVersion
	if slices.Contains(legacyVersions, params.ProtocolVersion) {
		version = params.ProtocolVersion
	}
	t.set(&t.initialized)
	t.result(fmt.Sprintf(`{"protocolVersion":%q,"serverInfo":%s,%s}`, version, t.serverInfo(), t.about()))
}

func (t *turn) discover() {
	versions := []string{modernVersion}
	if t.script.Speaks == Both {
		versions = append(versions, legacyVersions...)
	}
	t.result(fmt.Sprintf(`{"supportedVersions":%s,%s}`, encode(versions), t.about()))
}

// listen acknowledges a subscription, and stays with it until it is cancelled.
func (t *turn) listen() {
	var params struct{ Notifications json.RawMessage }
	_ = json.Unmarshal(t.msg.Params, &params)
	meta := fmt.Sprintf(`"_meta":{%q:%s}`, metaSubscription, t.msg.ID)
	t.notify("notifications/subscriptions/acknowledged", json.RawMessage(`{"notifications":`+orElse(string(params.Notifications), "{}")+`,`+meta+`}`))
	<-t.ctx.Done()
	t.result("{" + meta + "}")
}

func (t *turn) tool() *Tool {
	if t.msg.Method != "tools/call" {
		return nil
	}
	name := t.msg.name()
	i := slices.IndexFunc(t.script.Tools, func(tool Tool) bool { return tool.Name == name })
	if i < 0 {
		return nil
	}
	return &t.script.Tools[i]
}

func (t *turn) delay() time.Duration {
	if tool := t.tool(); tool != nil {
		return tool.Delay
	}
	return 0
}

func (t *turn) call() {
	tool := t.tool()
	switch {
	case tool == nil:
		t.refuse(-32602, "unknown tool "+t.msg.name())
	case tool.Error != nil:
		t.content = `"error":` + string(tool.Error)
	case tool.Result != nil:
		t.result(string(tool.Result))
	case tool.Text != "" || tool.Size > 0:
		t.result(textResult(orElse(tool.Text, strings.Repeat("x", tool.Size)), "", tool.IsError))
	default:
		arguments := t.arguments()
		t.result(textResult(string(arguments), `,"structuredContent":`+string(arguments), tool.IsError))
	}
}

func (t *turn) arguments() json.RawMessage {
	var params struct{ Arguments json.RawMessage }
	_ = json.Unmarshal(t.msg.Params, &params)
	if params.Arguments == nil {
		return json.RawMessage("{}")
	}
	return params.Arguments
}

func textResult(text, more string, isError bool) string {
	if isError {
		more += `,"isError":true`
	}
	return `{"content":[` + string(TextContent(text)) + `]` + more + `}`
}
