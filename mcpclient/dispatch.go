package mcpclient

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/cupule/cupule/internal/strictjson"
	"github.com/cupule/cupule/registry"
)

func (k *conn) frameLimit() int { return k.calls.frameLimit() }

func (k *conn) drop() { k.notes.drop() }

func (k *conn) message(m *message, line []byte, owned bool) {
	switch method, named := text(m.method); {
	case m.method == nil && m.id != nil:
		k.response(m, line, owned)
	case m.problem != "" || !named:
		k.stray.add(k.mask, line)
	case m.id == nil:
		k.notification(method, m.params)
	default:
		k.refuse(method, m.id)
	}
}

// response answers the call that m is for. One that is for no call is late, or never was ours.
func (k *conn) response(m *message, line []byte, owned bool) {
	id, ok := ownID(m.id)
	var p *pending
	if ok {
		p = k.calls.take(id)
	}
	if p == nil {
		k.stray.add(k.mask, line)
		return
	}
	result, err := settle(m, p, k.mask)
	if err != nil {
		p.answer <- answer{err: err}
		return
	}
	if !owned {
		result = bytes.Clone(result)
	}
	p.answer <- answer{result: result}
}

// settle judges a response: its result within the limit, or why there is none.
func settle(m *message, p *pending, mask masker) (json.RawMessage, error) {
	result, fault, problem := m.answer()
	switch {
	case problem != "":
		return nil, failure(registry.KindUpstreamError, registry.Completed, "the server's answer is no valid response: %s", problem)
	case fault != nil:
		e := failure(registry.KindUpstreamError, registry.Completed,
			"the server answered with error %d: %s", fault.Code, mask.untrusted(fault.Message, MaxMessage))
		return nil, because(e, fault)
	case len(result) > p.limit:
		return nil, tooLarge(p)
	}
	*p.shape = m.shape
	return result, complete(m.resultType)
}

// complete refuses a result that is not final: the protocol has results that ask for more
// input, and one of an unknown type must not pass for a success.
func complete(resultType json.RawMessage) error {
	if resultType == nil {
		return nil
	}
	switch kind, _ := text(resultType); kind {
	case "complete":
		return nil
	case "input_required":
		return asksForInput()
	default:
		return failure(registry.KindUpstreamError, registry.Completed, "the server's result is of the unknown type %.40q", resultType)
	}
}

func tooLarge(p *pending) error {
	if refused := p.place.refusal(); refused != nil {
		return refused
	}
	return limited(failure(registry.KindOutputTooLarge, registry.Completed, "the output is larger than the %s", p.output), p.output)
}

// refuse answers a server's request. What there is no room for is dropped: the server
// doesn't read, or asks without end.
func (k *conn) refuse(method string, id json.RawMessage) {
	if kind := strictjson.KindOf(id); kind != strictjson.Number && kind != strictjson.String || len(id) > 256 {
		return
	}
	k.offer(k.agreed.Load().appendReply(nil, id, method))
}

// notification passes on what belongs to a call, and leaves the rest to the session.
func (k *conn) notification(method string, params json.RawMessage) {
	if len(params) > FrameOverhead {
		k.notes.drop()
		return
	}
	if method == "notifications/progress" {
		token, report, ok := progressOf(params)
		if id, own := ownID(token); ok && own {
			k.progress(id, report)
		}
	}
	k.notes.deliver(method, params)
}

func (k *conn) progress(id int64, report registry.Progress) {
	if p := k.calls.find(id); p != nil && p.progress != nil {
		select {
		case p.progress <- report:
		default:
		}
	}
}

// progressOf reads the parameters of a progress notification.
func progressOf(params json.RawMessage) (token json.RawMessage, r registry.Progress, ok bool) {
	for m := range strictjson.Members(params) {
		switch string(m.Key) {
		case "progressToken":
			token = m.Value
		case "progress":
			r.Progress, ok = number(m.Value)
		case "total":
			r.Total, _ = number(m.Value)
		case "message":
			r.Message, _ = text(m.Value)
		}
	}
	return token, r, ok && token != nil
}

func number(raw []byte) (float64, bool) {
	n, err := strconv.ParseFloat(string(raw), 64)
	return n, err == nil && strictjson.KindOf(raw) == strictjson.Number
}

// tooLarge fails the call with this id, if it is in flight.
func (k *conn) tooLarge(id int64) bool {
	p := k.calls.take(id)
	if p != nil {
		p.answer <- answer{err: tooLarge(p)}
	}
	return p != nil
}

func asksForInput() *registry.Error {
	return failure(registry.KindUpstreamError, registry.Completed, "the server asks for further input (input_required), which this client gives none of")
}
