package jsonrpcserver

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/cupule/cupule/effects"
	"github.com/cupule/cupule/internal/strictjson"
	"github.com/cupule/cupule/registry"
)

// OpenRPCVersion is the version of the OpenRPC specification that rpc.discover's document follows.
const OpenRPCVersion = "1.2.6"

type openRPC struct {
	OpenRPC    string        `json:"openrpc"`
	Info       openRPCInfo   `json:"info"`
	Methods    []method      `json:"methods"`
	Components *schemasByUse `json:"components,omitempty"`
}

type openRPCInfo struct {
	Title   string `json:"title"`
	Version string `json:"version"`
}

type schemasByUse struct {
	Schemas map[string]json.RawMessage `json:"schemas"`
}

type method struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Structure   string          `json:"paramStructure"`
	Params      []content       `json:"params"`
	Result      content         `json:"result"`
	Errors      []methodError   `json:"errors"`
	Effects     effects.Set     `json:"x-effects"`
	Limits      methodLimits    `json:"x-limits"`
	Whole       json.RawMessage `json:"x-params,omitempty"`
}

type content struct {
	Name     string          `json:"name"`
	Required bool            `json:"required,omitempty"`
	Schema   json.RawMessage `json:"schema"`
}

type methodError struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
}

type methodLimits struct {
	Timeout   registry.Limit `json:"timeout"`
	MaxOutput registry.Limit `json:"max_output"`
}

// discover returns the OpenRPC document of the operations that the caller may use.
func (s *Server) discover(c *call) (json.RawMessage, *registry.Error) {
	if len(c.params) > 0 && !isEmpty(c.params) {
		return nil, &registry.Error{
			Kind: registry.KindInvalidParams, Operation: c.method, Message: "invalid parameters: rpc.discover takes none",
			Problems: []registry.ParamProblem{{Message: "leave params out"}},
		}
	}
	doc := openRPC{OpenRPC: OpenRPCVersion, Info: openRPCInfo{Title: s.opts.Title, Version: s.opts.Version}, Methods: []method{}}
	shared := map[string]json.RawMessage{}
	reg := c.backend.Registry
	for _, op := range reg.Operations() {
		if reg.Allows(op.Name, c.inv) {
			doc.Methods = append(doc.Methods, describe(reg, op, c.inv, shared))
		}
	}
	if len(shared) > 0 {
		doc.Components = &schemasByUse{Schemas: shared}
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, &registry.Error{Kind: registry.KindInternal, Operation: c.method, Message: "the document can't be written", Err: err}
	}
	if limit := c.inv.MaxOutput(); limit > 0 && int64(len(text)) > limit {
		return nil, &registry.Error{
			Kind: registry.KindOutputTooLarge, Operation: c.method, Message: "the document is larger than the caller's limit",
			Limit: &registry.Limit{Name: "max_output", Whose: "caller " + c.inv.Principal(), Bytes: limit},
		}
	}
	return text, nil
}

// isEmpty reports whether parameters are {} or [].
func isEmpty(params []byte) bool {
	for range strictjson.Members(params) {
		return false
	}
	for range strictjson.Elements(params) {
		return false
	}
	return true
}

func describe(reg *registry.Registry, op *registry.Operation, inv effects.Invocation, shared map[string]json.RawMessage) method {
	timeout, output, _ := reg.Limits(op.Name)
	if t := inv.Timeout(); t > 0 && t.Seconds() < timeout.Seconds {
		timeout = registry.Limit{Name: timeout.Name, Whose: "caller " + inv.Principal(), Seconds: t.Seconds()}
	}
	if n := inv.MaxOutput(); n > 0 && n < output.Bytes {
		output = registry.Limit{Name: output.Name, Whose: "caller " + inv.Principal(), Bytes: n}
	}
	m := method{
		Name: op.Name, Description: op.Description, Effects: op.Effects,
		Errors: methodErrors(op), Limits: methodLimits{Timeout: timeout, MaxOutput: output},
		Result: content{Name: "result", Schema: json.RawMessage("true")},
	}
	if op.Result != nil {
		m.Result.Schema = place(op.Name+".result", op.Result, shared)
	}
	m.setParams(op, shared)
	return m
}

// paramsSchema is what of a schema tells parameters apart.
type paramsSchema struct {
	Properties  json.RawMessage   `json:"properties"`
	Required    []string          `json:"required"`
	PrefixItems []json.RawMessage `json:"prefixItems"`
	Items       json.RawMessage   `json:"items"`
	MinItems    int               `json:"minItems"`

	shared string // the escaped name of the whole among the shared schemas, if it stands there
}

// part returns the schema of one parameter, in place or by reference.
func (p *paramsSchema) part(path string, inline json.RawMessage) json.RawMessage {
	if p.shared != "" {
		return reference(p.shared + path)
	}
	return inline
}

// setParams describes the parameters one by one where the schema names them. Where it
// doesn't, the schema stands whole beside an empty list.
func (m *method) setParams(op *registry.Operation, shared map[string]json.RawMessage) {
	m.Structure, m.Params = "either", []content{}
	if op.Params == nil {
		return
	}
	name := op.Name + ".params"
	whole := place(name, op.Params, shared)
	var schema paramsSchema
	if shared[name] != nil {
		schema.shared = escapePointer(name)
	}
	_ = json.Unmarshal(op.Params, &schema) // a schema of other types names no parameters
	switch {
	case strictjson.KindOf(schema.Properties) == strictjson.Object:
		m.setNamed(&schema, op.Positional() != nil)
	case schema.PrefixItems != nil || schema.Items != nil:
		m.setPositional(&schema)
	default:
		m.Whole = whole
	}
}

func (m *method) setNamed(schema *paramsSchema, either bool) {
	for p := range strictjson.Members(schema.Properties) {
		name := string(p.Key)
		m.Params = append(m.Params, content{
			Name: name, Required: slices.Contains(schema.Required, name),
			Schema: schema.part("/properties/"+escapePointer(name), p.Value),
		})
	}
	if !either {
		m.Structure = "by-name"
		slices.SortStableFunc(m.Params, requiredFirst)
	}
}

func (m *method) setPositional(schema *paramsSchema) {
	m.Structure = "by-position"
	for i, item := range schema.PrefixItems {
		n := strconv.Itoa(i)
		m.Params = append(m.Params, content{Name: "item" + n, Required: i < schema.MinItems, Schema: schema.part("/prefixItems/"+n, item)})
	}
	if schema.PrefixItems == nil {
		m.Params = append(m.Params, content{Name: "items", Required: schema.MinItems > 0, Schema: schema.part("/items", schema.Items)})
	}
}

func requiredFirst(a, b content) int {
	switch {
	case a.Required == b.Required:
		return 0
	case a.Required:
		return -1
	}
	return 1
}

// methodErrors lists the kinds of error that a call may end with.
func methodErrors(op *registry.Operation) []methodError {
	kinds := []registry.Kind{
		registry.KindInvalidParams, registry.KindInternal, registry.KindOverloaded, registry.KindTimeout,
		registry.KindOutputTooLarge, registry.KindShuttingDown, registry.KindCancelled,
	}
	if op.Upstream != nil {
		kinds = append(kinds, registry.KindUnavailable, registry.KindOutcomeUnknown, registry.KindUpstreamError, registry.KindToolMissing)
	}
	list := make([]methodError, len(kinds))
	for i, k := range kinds {
		list[i] = methodError{Code: k.Code(), Message: string(k)}
	}
	return list
}

// place returns a schema that may stand anywhere in the document: itself, or, where it
// refers to parts of itself, a reference to it among the shared schemas.
func place(name string, schema json.RawMessage, shared map[string]json.RawMessage) json.RawMessage {
	if !bytes.Contains(schema, []byte(`"$ref"`)) {
		return schema
	}
	shared[name] = rebase(nil, schema, "#/components/schemas/"+escapePointer(name))
	return reference(escapePointer(name))
}

// reference returns a schema that refers to a shared one, or to a part of it. The path is escaped.
func reference(path string) json.RawMessage {
	return append(appendString([]byte(`{"$ref":`), "#/components/schemas/"+path), '}')
}

func escapePointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// rebase appends a schema whose references to itself are turned into references from root.
func rebase(dst, value []byte, root string) []byte {
	switch strictjson.KindOf(value) {
	case strictjson.Object:
		separator := byte('{')
		for m := range strictjson.Members(value) {
			dst = append(append(append(dst, separator), m.Name...), ':')
			separator = ','
			ref, ok := stringValue(m.Value)
			if string(m.Key) == "$ref" && ok && (string(ref) == "#" || bytes.HasPrefix(ref, []byte("#/"))) {
				dst = appendString(dst, root+string(ref[1:]))
				continue
			}
			dst = rebase(dst, m.Value, root)
		}
		if separator == '{' {
			dst = append(dst, '{')
		}
		return append(dst, '}')
	case strictjson.Array:
		separator := byte('[')
		for element := range strictjson.Elements(value) {
			dst = rebase(append(dst, separator), element, root)
			separator = ','
		}
		if separator == '[' {
			dst = append(dst, '[')
		}
		return append(dst, ']')
	}
	return append(dst, value...)
}
