package mcptest

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

const (
	askSampling    = `{"messages":[{"role":"user","content":{"type":"text","text":"say something"}}],"maxTokens":10}`
	askElicitation = `{"mode":"form","message":"who are you?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`
	cyclicSchema   = `{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`
	remoteSchema   = "https://schema.invalid/remote.json"
)

// setResult makes the answer a result, as it stands.
func (t *turn) setResult(result []byte) { t.setContent(`"result":` + orElse(string(result), "null")) }

func (t *turn) setContent(content string) { t.content, t.list, t.exact = content, nil, nil }

func (t *turn) errorObject() string {
	return fmt.Sprintf(`{"code":%d,"message":%s}`, orElse(t.fault.Code, -32603), encode(orElse(t.fault.Text, "scripted error")))
}

func inputRequired(t *turn) {
	requests := orElse(string(t.fault.JSON), `{"who":{"method":"elicitation/create","params":`+askElicitation+`}}`)
	t.setResult([]byte(`{"resultType":"input_required","inputRequests":` + requests + `,"requestState":"s"}`))
}

func raw(t *turn) {
	text := orElse(string(t.fault.JSON), t.fault.Text)
	t.exact = []byte(strings.ReplaceAll(text, `"$id"`, string(t.msg.ID)))
}

func halfLine(t *turn) {
	t.write(string(t.half()))
	<-t.ctx.Done()
}

// huge answers with a text that is never held in memory; first and last stand around the result.
func (t *turn) huge(first, last string) {
	_ = t.wire.stream(func(w io.Writer) error { return t.writeHuge(w, first, last) })
	t.done(t.msg.ID)
}

func (t *turn) writeHuge(w io.Writer, first, last string) error {
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0"`+first+`,"result":{"content":[{"type":"text","text":"`)
	if err := fill(w, 'x', orElse(t.fault.Size, gigabyte)); err != nil {
		return err
	}
	_, err := io.WriteString(w, `"}]}`+last+"}\n")
	return err
}

func logParams(text string) json.RawMessage {
	return encode(map[string]any{"level": "info", "logger": "mcptest", "data": text})
}

func flood(t *turn) {
	params := logParams(strings.Repeat("x", int(t.fault.Size)))
	note := []byte(`{"jsonrpc":"2.0","method":"notifications/message","params":` + string(params) + `}`)
	for range orElse(t.fault.Count, 200_000) {
		if t.wire.send(note, false) != nil || t.conn.Err() != nil {
			return
		}
	}
}

func progress(t *turn) {
	var params struct {
		Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
	}
	_ = json.Unmarshal(t.msg.Params, &params)
	token := orElse(string(t.fault.JSON), orElse(string(params.Meta.ProgressToken), `"no-such-token"`))
	total := orElse(t.fault.Count, 3)
	for i := range total {
		t.notify("notifications/progress", json.RawMessage(
			fmt.Sprintf(`{"progressToken":%s,"progress":%d,"total":%d,"message":"step %d"}`, token, i+1, total, i+1)))
	}
}

func outOfOrder(t *turn) {
	select {
	case <-t.holdBack():
		t.finish()
	case <-t.ctx.Done():
	}
}

func twice(entries []json.RawMessage) []json.RawMessage {
	var all []json.RawMessage
	for _, entry := range entries {
		all = append(all, entry, entry)
	}
	return all
}

// page is the list that is about to be sent; at a step that lists nothing, none that matters.
func (t *turn) page() *listing {
	if t.list == nil {
		return &listing{}
	}
	return t.list
}

func malformedEntry(t *turn) {
	entry := json.RawMessage(`{"name":42,"uri":[],"uriTemplate":{},"inputSchema":"none","annotations":{"readOnlyHint":"yes"}}`)
	if t.fault.JSON != nil {
		entry = t.fault.JSON
	}
	page := t.page()
	page.entries = slices.Insert(page.entries, len(page.entries)/2, entry)
}

func (t *turn) addTool(name, schema string) {
	page := t.page()
	page.entries = append(page.entries, Tool{Name: name, InputSchema: json.RawMessage(schema)}.definition())
}
