package registry

import (
	"encoding/json"
	"math/big"
)

// maxWhole is the length of the longest number that a Go integer holds.
const maxWhole = len("-9223372036854775808")

// respell writes the numbers at loose as Go decodes integers: 1.0 as 1, and 1e3 as 1000.
func respell(params json.RawMessage, loose []span) json.RawMessage {
	if len(loose) == 0 {
		return params
	}
	out := make([]byte, 0, len(params)+len(loose)*maxWhole)
	rest := 0
	for _, at := range loose {
		out = append(out, params[rest:at.begin]...)
		out = append(out, whole(string(params[at.begin:at.end]))...)
		rest = at.end
	}
	return append(out, params[rest:]...)
}

// whole returns the number without fraction and exponent; one that no Go integer holds stays.
func whole(number string) string {
	r, ok := new(big.Rat).SetString(number)
	if !ok || !r.IsInt() {
		return number
	}
	if text := r.Num().String(); len(text) <= maxWhole {
		return text
	}
	return number
}
