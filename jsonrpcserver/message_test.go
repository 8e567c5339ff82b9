package jsonrpcserver

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cupule/cupule/registry"
	"github.com/google/go-cmp/cmp"
	"github.com/sourcegraph/jsonrpc2"
)

func TestID(t *testing.T) {
	for _, raw := range []string{"1", "-1", "1.0", "1e400", "18446744073709551616", `""`, `"é"`, `"\u00e9"`, "null"} {
		id, err := ParseID([]byte(" " + raw + "\n"))
		if err != nil || id.String() != raw || id.IsZero() || id.IsNull() != (raw == "null") {
			t.Errorf("%s: %v %v", raw, id, err)
		}
		if out, err := json.Marshal(id); err != nil || string(out) != raw {
			t.Errorf("%s: %s %v", raw, out, err)
		}
	}
	for _, raw := range []string{"", "true", "[1]", "{}", "01", "1 2", "\"\xff\""} {
		if id, err := ParseID([]byte(raw)); err == nil {
			t.Errorf("%q became the id %v", raw, id)
		}
	}
	if NumberID(-7).String() != "-7" || StringID("a\"\n").String() != `"a\"\u000a"` || (ID{}).String() != "" || !NullID.IsNull() {
		t.Error("constructors")
	}
	if out, _ := json.Marshal(ID{}); string(out) != "null" {
		t.Errorf("no id is written as %s", out)
	}
}

func TestMessages(t *testing.T) {
	must := func(m Message, err error) Message {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	data := json.RawMessage(`{"x":1}`)
	for _, test := range []struct {
		message Message
		kind    MessageKind
		wire    string
	}{
		{must(NewRequest(NumberID(1), "echo", map[string]int{"a": 1})), RequestMessage, `{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":1}}`},
		{must(NewRequest(StringID("x"), "echo", nil)), RequestMessage, `{"jsonrpc":"2.0","id":"x","method":"echo"}`},
		{must(NewNotification("echo", []int{1})), NotificationMessage, `{"jsonrpc":"2.0","method":"echo","params":[1]}`},
		{Message{ID: NullID, Method: "m", ProgressToken: json.RawMessage("7")}, RequestMessage, `{"jsonrpc":"2.0","id":null,"method":"m","meta":{"progressToken":7}}`},
		{must(NewResult(NumberID(1), json.RawMessage(`{"z":1,"a":9007199254740993}`))), ResultMessage, `{"jsonrpc":"2.0","id":1,"result":{"z":1,"a":9007199254740993}}`},
		{must(NewResult(NumberID(1), nil)), ResultMessage, `{"jsonrpc":"2.0","id":1,"result":null}`},
		{NewError(NumberID(1), &jsonrpc2.Error{Code: 5, Message: "no", Data: &data}), ErrorMessage, `{"jsonrpc":"2.0","id":1,"error":{"code":5,"message":"no","data":{"x":1}}}`},
		{NewError(ID{}, errors.New("secret")), ErrorMessage, `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"the service failed","data":{"kind":"internal"}}}`},
	} {
		if got := test.message.Kind(); got != test.kind {
			t.Errorf("%s: %v", test.wire, got)
		}
		wire, err := test.message.MarshalJSON()
		if err != nil || string(wire) != test.wire {
			t.Errorf("got %s %v, want %s", wire, err, test.wire)
		}
		back, err := Parse(wire)
		if err != nil || back.Kind() != test.kind {
			t.Errorf("%s: %v %v", wire, back, err)
		}
		again, err := back.MarshalJSON()
		if err != nil || string(again) != test.wire {
			t.Errorf("%s became %s, %v", wire, again, err)
		}
	}
	for _, params := range []any{1, "a", true, json.RawMessage("null"), make(chan int)} {
		if _, err := NewNotification("m", params); err == nil {
			t.Errorf("params %v were taken", params)
		}
	}
	if _, err := NewRequest(ID{}, "m", nil); err == nil {
		t.Error("a request without id was made")
	}
	if _, err := NewResult(NumberID(1), make(chan int)); err == nil {
		t.Error("a channel became a result")
	}
	if _, err := (Message{}).MarshalJSON(); err == nil || (Message{}).Kind().String() != "invalid message" {
		t.Error("an empty message was written")
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]registry.Kind{
		`{"jsonrpc":"2.0","method":"a","id":1`:                                   registry.KindParseError,
		`{"jsonrpc":"2.0","method":"a","id":1} x`:                                registry.KindParseError,
		`{"jsonrpc":"2.0","method":1,"id":1}`:                                    registry.KindInvalidRequest,
		`{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":"m"}}`:   registry.KindInvalidRequest,
		`{"jsonrpc":"2.0","result":1}`:                                           registry.KindInvalidRequest,
		`{"jsonrpc":"1.0","result":1,"id":1}`:                                    registry.KindInvalidRequest,
		`{"result":1,"id":1}`:                                                    registry.KindInvalidRequest,
		`{"jsonrpc":"2.0","error":{"code":1},"id":1}`:                            registry.KindInvalidRequest,
		`{"jsonrpc":"2.0","error":{"code":1.5,"message":"m"},"id":1}`:            registry.KindInvalidRequest,
		`{"jsonrpc":"2.0","error":"x","id":1}`:                                   registry.KindInvalidRequest,
		`{"jsonrpc":"2.0","result":1,"result":2,"id":1}`:                         registry.KindInvalidRequest,
		`{"jsonrpc":"2.0","method":"a","params":{},"id":1,"Params":{"other":1}}`: registry.KindInvalidRequest,
	} {
		_, err := Parse([]byte(text))
		if failure, ok := errors.AsType[*registry.Error](err); !ok || failure.Kind != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestParseBatch(t *testing.T) {
	messages, faults, batch, err := ParseBatch([]byte(`[{"jsonrpc":"2.0","method":"a"},1,{"jsonrpc":"2.0","result":2,"id":3}]`))
	if err != nil || !batch || len(messages) != 3 || faults[0] != nil || faults[1] == nil || faults[2] != nil {
		t.Fatal(messages, faults, batch, err)
	}
	if messages[2].Kind() != ResultMessage || messages[2].ID != NumberID(3) {
		t.Error(messages[2])
	}
	if messages, _, batch, err := ParseBatch([]byte(`{"jsonrpc":"2.0","method":"a"}`)); err != nil || batch || len(messages) != 1 {
		t.Error(messages, batch, err)
	}
	for _, text := range []string{"[]", "[1", "[1]x"} {
		if _, _, _, err := ParseBatch([]byte(text)); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}

// The data of an error says what a program needs, and nothing from inside.
func TestErrorData(t *testing.T) {
	err := &registry.Error{
		Kind: registry.KindTimeout, Message: "too slow", Operation: "op", Server: "s", Tool: "t", Phase: "call",
		Limit: &registry.Limit{Name: "timeout", Whose: "tool s/t", Seconds: 1.5}, Ran: registry.Sent,
		Stderr: "SECRET", Err: errors.New("/secret/path"),
	}
	got := string(appendError(nil, []byte("1"), err))
	want := `{"jsonrpc":"2.0","id":1,"error":{"code":-32004,"message":"too slow","data":` +
		`{"kind":"timeout","operation":"op","server":"s","tool":"t","phase":"call","limit":{"name":"timeout","whose":"tool s/t","seconds":1.5},"ran":"sent"}}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	bad := json.RawMessage("{")
	own := &registry.Error{Kind: registry.KindApplication, Err: &jsonrpc2.Error{Code: 7, Message: "x", Data: &bad}}
	if got := string(appendError(nil, nil, own)); !json.Valid([]byte(got)) || !strings.Contains(got, "-32603") {
		t.Errorf("ill-formed data: %s", got)
	}
	own = &registry.Error{Kind: registry.KindApplication, Err: &jsonrpc2.Error{Code: 7, Message: "x\xff\n"}}
	if got := string(appendError(nil, nil, own)); got != `{"jsonrpc":"2.0","id":null,"error":{"code":7,"message":"x�\u000a"}}` {
		t.Error(got)
	}
}
