package strictjson

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// Why a text is judged otherwise than by encoding/json's Valid, where it is.
const (
	asThere  = ""          // both say the same
	badUTF8  = "not UTF-8" // encoding/json takes ill-formed bytes and replaces them by U+FFFD, which two readers may do differently
	tooDeep  = "too deep"  // encoding/json goes down to 10,000 levels, a peer's reader may not
	maxLevel = 64          // what messages are held to
)

// judged is a text and whether it is accepted; stricter says why, where encoding/json
// accepts it and we don't.
type judged struct {
	text     string
	accepted bool
	stricter string
}

// rows makes rows of texts that are judged alike.
func rows(accepted bool, stricter string, texts ...string) (list []judged) {
	for _, text := range texts {
		list = append(list, judged{text, accepted, stricter})
	}
	return list
}

// families are what a suite for JSON readers tells apart: texts that all readers must
// accept, that all must refuse, and those that the standard leaves to a reader.
var families = map[string]map[string][]judged{
	"must accept": {
		"array": rows(true, asThere, "[[]   ]", `[""]`, "[]", `["a"]`, "[false]", `[null, 1, "1", {}]`, "[null]", "[1\n]", " [1]", "[1,null,null,null,2]", "[2] "),
		"number": rows(true, asThere, "[123e65]", "[0e+1]", "[0e1]", "[ 4]", "[-0.00000000000000000000000000000000000000000001]", "[20e1]", "[-0]",
			"[-123]", "[-1]", "[1E22]", "[1E-2]", "[1E+2]", "[123e45]", "[9.81e21]", "[1e-2]", "[1e+2]", "[123]", "[2.718281828]"),
		"object": rows(true, asThere, `{"a":"b", "c":"d"}`, `{"a":"b"}`, `{"a":"b","a":"c"}`, `{"a":"b","a":"b"}`, "{}", `{"":0}`, `{"a\u0000b": 1}`, `{"low":-2.5E+9,"high":2.5E+9}`,
			`{"rows":[{"key":"a key of many letters, at some depth"}],"key":"k"}`, `{"a":[]}`, `{"\u03b1":"\u03c9"}`, "{\n\"a\": \"b\"\n}"),
		"string": rows(true, asThere, `["\u0041\u01fe\u20AC"]`, `["\uD835\udd38"]`, `["\ud83c\udf31\ud83c\udf30"]`, `["\"\\\/\b\f\n\r\t"]`, `["\\u0000"]`, `["\""]`, `["no /* comment */ here // nor here"]`, `["\\a"]`,
			`["\\n"]`, `["\u0012"]`, `["\uFFFF"]`, `[ "a"]`, "[\"\U0010ffff\"]", "[\"\uffff\"]", `["\u0000"]`, `["\u002c"]`, "[\"π\"]", `["\uD834\uDd1e"]`, "\" \"", "[\"\u2028\"]", "[\"\u2029\"]",
			`["\u005C"]`, `["\u0022"]`, `["\u200B"]`, `["\u2064"]`, `["\uFDD0"]`, `["\uFFFE"]`, `["\uDBFF\uDFFE"]`, "[\"\x7f\"]", "[\"€𝄞\"]"),
		"structure": rows(true, asThere, "false", "42", "-0.1", "null", `"a"`, "true", `""`, "[\"a\"]\n", "[true]", " [] ", "\t\r\n 1"),
	},
	"must refuse": {
		"array": rows(false, asThere, `["": 1]`, `[""],`, `[,1]`, `[1,,2]`, `["x",,]`, `["x"]]`, `["",]`, `["x"`, `[x`, `[3[4]]`, `[1:2]`, `[,]`, `[-]`, "[   , \"\"]", "[\"a\",\n4\n,1,",
			`[1,]`, "[\"a", `[*]`, `[1`, "[1,\n1\n,1", `[{}`, "[\"\va\"\\f]", "[1 true]"),
		"number": rows(false, asThere, "[++5]", "[+1]", "[+Inf]", "[-01]", "[-1.0.]", "[-2.]", "[-NaN]", "[.-1]", "[.2e-3]", "[0.1.2]", "[0.3e+]", "[0.3e]", "[0.e1]", "[0E+]", "[0E]", "[1.0e+]",
			"[1.0e-]", "[1 000.0]", "[1eE2]", "[2.e+3]", "[9.e+]", "[Inf]", "[NaN]", "[１]", "[1+2]", "[0x1]", "[0x42]", "[Infinity]", "[-Infinity]", "[-oak]", "[- 1]", "[-012]", "[-.123]", "[-1x]",
			"[1ea]", "[1.]", "[.123]", "[1.2a-3]", "[6.25H-3]", "[012]", "[0b1]", "[0o7]"),
		"object": rows(false, asThere, `[1, verity]`, `{[: "x"}`, `{"x", null}`, `{"x"::"b"}`, `{"a":"a" 123}`, `{name: 'oak'}`, `{"a" b}`, `{:"b"}`, `{"a" "b"}`, `{"a":`, `{"a"`, `{1:1}`, `{9E9:1}`,
			`{true:true,true:true}`, `{"k":1,,,}`, `{'a':0}`, `{"id":0,}`, `{"a":"b"}/**/`, `{"a":"b"}//`, `{"a":"b"}#`, `{"a":"b",,"c":"d"}`, `{a: "b"}`, `{"a":"a`, `{ "a" : "b", 1 }`, `{"a":"b"}{`, `{"a":true} "x"`, `{"a":+}`),
		"string": rows(false, asThere, `["\uD800\"]`, `["\uD800\u"]`, `["\uD800\u1"]`, `["\uD800\u1x"]`, `[é]`, "[\"\\\x00\"]", `["\x00"]`, `["\\\"]`, "[\"\\\t\"]", `["\🌀"]`, `["\"]`, `["\u00A"]`,
			`["\uD834\uDd"]`, `["\uD800\uD800\x"]`, `["\a"]`, `["\uqqqq"]`, `[\u0020"a"]`, `[\n]`, `"`, `['single']`, `abc`, `["\`, "[\"a\x00a\"]", "[\"new\nline\"]", "[\"\t\"]", `"\U20AC"`, `""x`, `["\é"]`),
		"structure": rows(false, asThere, "<json>", "[<true>]", "[1]x", "[1]]", `["oak]`, "aå", "[True]", "1]", `{"x": true,`, "[][]", "]", "\ufeff", "å", "[", "", "2@", "{}}", `{"":`, `{"a":/*c*/"b"}`, `{"a": true} "x"`, "['",
			`["a`, `[,`, "[{", `["a`, `["`, "{", "{]", "{,", "{[", `{"a`, "{'a'", `["\{["\{`, "*", `{"a":"b"}#{}`, `[\u000A""]`, "[1", "[ false, nul", "[ true, fals", "[ false, tru", `{"a":1`, "[\u2060]", "\u2060[]", "\f[]", "[\f]", "\\u0020"),
	},
	"left to a reader": {
		// A number has no bound of its own: HugeNumber finds those that would cost.
		"number": rows(true, asThere, "[2.5e-700]", "[7e00"+strings.Repeat("8", 90)+"]",
			"[-1e+9999]", "[1.5e+9999]", "[-6021e40000]", "[6021e40000]", "[6e-2000000]", "[-987654321098765432109876543210]", "[100000000000000000000]", "[-314159265358979323846264338327950288]"),
		"object": rows(true, asThere, `{"\uDEAD":0}`),
		// Surrogates that stand alone, escaped: the text is pure ASCII, and stays as it is.
		"string": rows(true, asThere, `["\uDABC"]`, `["\uD912\u0451"]`, `["\uD800\n"]`, `["\uDd1ea"]`, `["\uD800\uD800\n"]`, `["\ud800"]`, `["\ud800abc"]`, `["\uDd1e\uD834"]`, `["\uDEAD"]`),
		// Stricter: what is no UTF-8 is refused, never replaced.
		"string, ill-formed": rows(false, badUTF8, "[\"\xff\"]", "[\"\xe0\xff\"]", "[\"\xed\xa0\x80\"]", "[\"\xed\xa0\xb4\xed\xb4\x9e\"]", "[\"\xce\xb1\xfa\"]", "[\"\xf4\xbf\xbf\xbf\"]", "[\"\x81\"]",
			"[\"\xc0\xaf\"]", "[\"\xfc\x83\xbf\xbf\xbf\xbf\"]", "[\"\xfc\x80\x80\x80\x80\x80\"]", "[\"\xe9\"]", "[\"\xf8\x88\x80\x80\x80\"]", "{\"\xb9\":0}", "[\"\xf0\x80\x80\xaf\"]", "[\"\xe2\x82\"]"),
		"string, UTF-16":       rows(false, asThere, "\xff\xfe[\x00\"\x00\xe9\x00\"\x00]\x00", "\xfe\xff\x00[\x00\"\x00\xe9\x00\"\x00]", "[\x00\"\x00\xe9\x00\"\x00]\x00", "\x00[\x00\"\x00\xe9\x00\"\x00]"),
		"structure, with mark": rows(false, asThere, "\ufeff{}", "\ufeff[1]"),
		// Stricter: nesting is bounded.
		"structure, deep": rows(false, tooDeep, strings.Repeat("[", 500)+strings.Repeat("]", 500), strings.Repeat(`{"a":`, 65)+"1"+strings.Repeat("}", 65)),
		"structure, at the bound": rows(true, asThere, strings.Repeat("[", maxLevel)+strings.Repeat("]", maxLevel),
			strings.Repeat(`{"a":`, maxLevel)+"1"+strings.Repeat("}", maxLevel)),
	},
}

// TestFamilies judges every row, compares with encoding/json, and holds each difference to
// the reason that its row gives.
func TestFamilies(t *testing.T) {
	for family, classes := range families {
		for class, list := range classes {
			for _, row := range list {
				err := Valid([]byte(row.text), maxLevel)
				if (err == nil) != row.accepted {
					t.Errorf("%s, %s: %.60q: %v", family, class, row.text, err)
				}
				if there := row.accepted || row.stricter != asThere; json.Valid([]byte(row.text)) != there {
					t.Errorf("%s, %s: %.60q: encoding/json disagrees with the row", family, class, row.text)
				}
				syntax, _ := errors.AsType[*SyntaxError](err)
				if syntax != nil && syntax.TooDeep != (row.stricter == tooDeep) {
					t.Errorf("%s, %s: %.60q: too deep: %v", family, class, row.text, syntax.TooDeep)
				}
			}
		}
	}
}
