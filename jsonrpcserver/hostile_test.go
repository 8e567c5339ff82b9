package jsonrpcserver

import (
	"fmt"
	"strings"
	"testing"
)

// hostile is a message at the edge of what JSON allows, and the only reply to it.
type hostile struct{ name, send, want string }

func echoed(params, id string) string {
	return `{"jsonrpc":"2.0","result":` + params + `,"id":` + id + `}`
}

func withParams(params string) string {
	return `{"jsonrpc":"2.0","method":"echo","params":` + params + `,"id":7}`
}

func withID(id string) string { return `{"jsonrpc":"2.0","method":"echo","id":` + id + `}` }

// nest puts n levels around 1, of arrays, objects or both in turn.
func nest(shape string, n int) string {
	text := "1"
	for i := range n {
		if shape == "arrays" || shape == "mixed" && i%2 == 0 {
			text = "[" + text + "]"
		} else {
			text = `{"a":` + text + "}"
		}
	}
	return text
}

// hostileDepths holds nesting to 64 levels, the envelope and the batch included.
func hostileDepths() (rows []hostile) {
	for _, shape := range []string{"arrays", "objects", "mixed"} {
		for _, depth := range []int{63, 64, 65} {
			add := func(where, send, want string) {
				if depth > MaxDepth {
					want = refused(-32700, "null")
				}
				rows = append(rows, hostile{fmt.Sprintf("%d levels of %s in %s", depth, shape, where), send, want})
			}
			params := nest(shape, depth-1)
			add("params", withParams(params), echoed(params, "7"))
			add("id", withID(nest(shape, depth-1)), refused(-32600, "null"))
			add("an envelope's other member", `{"jsonrpc":"2.0","method":"echo","id":7,"x":`+nest(shape, depth-1)+`}`, echoed("null", "7"))
			inner := nest(shape, depth-2)
			add("params in a batch", "["+withParams(inner)+"]", "["+echoed(inner, "7")+"]")
			add("an element of a batch", "["+nest(shape, depth-1)+"]", "["+refused(-32600, "null")+"]")
		}
	}
	return rows
}

// hostileNumbers puts each text where a number may stand: as a parameter and as an id.
func hostileNumbers() (rows []hostile) {
	for _, number := range []string{"1e400", "-1e400", "1e-400", "-0", "-0.0", "1E+2", "0e0", strings.Repeat("9", 300), "-" + strings.Repeat("7", 300), "0." + strings.Repeat("1", 300)} {
		rows = append(rows,
			hostile{"number " + number, withParams("[" + number + "]"), echoed("["+number+"]", "7")},
			hostile{"id " + number, withID(number), echoed("null", number)})
	}
	for _, number := range []string{"0123", "-01", "1.", ".5", "-.5", "+1", "0x1", "1e", "1e+", "1.e1", "--1", "NaN", "Infinity", "1_0", "٣"} {
		rows = append(rows,
			hostile{"bad number " + number, withParams("[" + number + "]"), refused(-32700, "null")},
			hostile{"bad id " + number, withID(number), refused(-32700, "null")})
	}
	return rows
}

// hostileTexts puts each text where a string may stand: an id comes back by its bytes, an
// unknown method is told apart from unreadable bytes.
func hostileTexts() (rows []hostile) {
	for name, text := range map[string]string{
		"lone high surrogate": `\ud800`, "lone low surrogate": `\udc00`, "surrogates out of order": `\udc00\ud800`, "two high surrogates": `\ud834\ud834`,
		"surrogate before a letter": `\ud834a`, "escaped pair": `\ud834\udd1e`, "escaped NUL": `\u0000`, "U+2028": "\u2028", "U+2029": "\u2029", "BOM within": "\ufeff", "U+FFFF": "\uffff",
	} {
		quoted := `"` + text + `"`
		rows = append(rows,
			hostile{name + " in params", withParams("[" + quoted + "]"), echoed("["+quoted+"]", "7")},
			hostile{name + " in a key", withParams("{" + quoted + ":1}"), echoed("{"+quoted+":1}", "7")},
			hostile{name + " in an id", withID(quoted), echoed("null", quoted)},
			hostile{name + " in a method", `{"jsonrpc":"2.0","method":"echo` + text + `","id":7}`, refused(-32601, "7")})
	}
	for name, text := range map[string]string{
		"raw NUL": "\x00", "overlong slash": "\xc0\xaf", "overlong NUL": "\xc0\x80", "overlong of three": "\xe0\x80\xaf", "overlong of four": "\xf0\x80\x80\xaf",
		"CESU-8 pair": "\xed\xa0\xb4\xed\xb4\x9e", "encoded surrogate": "\xed\xa0\x80", "past U+10FFFF": "\xf4\x90\x80\x80", "lone continuation": "\x80", "cut character": "\xe2\x82",
	} {
		quoted := `"` + text + `"`
		rows = append(rows,
			hostile{name + " in params", withParams("[" + quoted + "]"), refused(-32700, "null")},
			hostile{name + " in a key", withParams("{" + quoted + ":1}"), refused(-32700, "null")},
			hostile{name + " in an id", withID(quoted), refused(-32700, "null")},
			hostile{name + " in a method", `{"jsonrpc":"2.0","method":"` + text + `","id":7}`, refused(-32700, "null")})
	}
	for name, tail := range map[string]string{"two of three bytes": "\xe2\x82", "one of two": "\xc3", "three of four": "\xf0\x9d\x84", "NUL": "\x00", "BOM": "\ufeff"} {
		rows = append(rows,
			hostile{name + " behind the message", withID("7") + tail, refused(-32700, "null")},
			hostile{name + " at the end of an unfinished one", `{"jsonrpc":"2.0","method":"echo","id":"` + tail, refused(-32700, "null")})
	}
	return rows
}

// TestHostileMessages: each gets the one right reply, and the connection lives on.
func TestHostileMessages(t *testing.T) {
	rows := append(hostileDepths(), hostileNumbers()...)
	rows = append(rows, hostileTexts()...)
	forEachFraming(t, func(t *testing.T, headers bool) {
		c := serve(t, newServer(t, Backend{}, nil), nil, headers)
		for _, row := range rows {
			c.send(row.send)
			got, err := c.receive(hang)
			if err != nil {
				t.Fatalf("%s: %v", row.name, err)
			}
			if err := sameReply(row.want, got); err != nil {
				t.Errorf("%s: %v", row.name, err)
			}
		}
		c.call(withID(`"alive"`), echoed("null", `"alive"`))
	})
}

// TestByteOrderMark: a message that begins with one is refused, the first of a stream or a
// later one, and what follows is answered.
func TestByteOrderMark(t *testing.T) {
	forEachFraming(t, func(t *testing.T, headers bool) {
		c := serve(t, newServer(t, Backend{}, nil), nil, headers)
		c.call(withID("1"), echoed("null", "1"))
		c.call("\ufeff"+withID("2"), refused(-32700, "null"))
		c.call(withID("3"), echoed("null", "3"))
	})
	first := serve(t, newServer(t, Backend{}, nil), nil, false)
	first.call("\ufeff"+withID("1"), refused(-32700, "null"))
	first.call(withID("2"), echoed("null", "2"))
}
