package registry

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/cupule/cupule/internal/strictjson"
)

// glance is one walk over a valid JSON text along an outline.
type glance struct {
	text  []byte
	doubt bool // the text is not certainly valid
	// loose are the numbers such as 1.0 and 1e3 that stand where whole ones are due.
	loose []span
}

type span struct{ begin, end int }

// look compares a valid text with the outline.
func (o *outline) look(text []byte) glance {
	g := glance{text: text}
	if o == nil {
		g.doubt = true
		return g
	}
	g.value(o, strictjson.Space(text, 0))
	return g
}

func (g *glance) certain() bool { return !g.doubt && g.loose == nil }

// value returns the offset behind the value at i.
func (g *glance) value(o *outline, i int) int {
	kind := strictjson.KindOf(g.text[i:])
	switch {
	case o == nil || !o.anything && !o.kinds[kind]:
		g.doubt = true
		return g.skip(i)
	case o.anything:
		return g.skip(i)
	}
	g.doubt = g.doubt || o.words != nil && kind != strictjson.String
	switch kind {
	case strictjson.Object:
		return g.object(o, i)
	case strictjson.Array:
		return g.array(o, i)
	case strictjson.String:
		return g.quoted(o, i)
	case strictjson.Number:
		return g.number(o, i)
	}
	return g.skip(i)
}

func (g *glance) skip(i int) int {
	end, _ := strictjson.Value(g.text, i, strictjson.MaxDepth)
	return end
}

// next returns the offset of what follows a value and its comma.
func (g *glance) next(i int) int {
	if i = strictjson.Space(g.text, i); g.text[i] == ',' {
		i = strictjson.Space(g.text, i+1)
	}
	return i
}

func (g *glance) object(o *outline, i int) int {
	var seen uint64
	for i = strictjson.Space(g.text, i+1); g.text[i] != '}'; i = g.next(i) {
		end, escaped, _ := strictjson.Quoted(g.text, i)
		f, known := o.fields[string(g.text[i+1:end-1])]
		switch {
		case escaped:
			f = field{} // which one it is takes unescaping
		case !known:
			f.outline = o.extra
		}
		seen |= f.bit
		i, _ = strictjson.Colon(g.text, end)
		i = g.value(f.outline, i)
	}
	g.doubt = g.doubt || seen != o.required
	return i + 1
}

func (g *glance) array(o *outline, i int) int {
	for i = strictjson.Space(g.text, i+1); g.text[i] != ']'; i = g.next(i) {
		i = g.value(o.items, i)
	}
	return i + 1
}

func (g *glance) quoted(o *outline, i int) int {
	end, escaped, _ := strictjson.Quoted(g.text, i)
	inner := g.text[i+1 : end-1]
	n := utf8.RuneCount(inner)
	switch {
	case n < o.shortest || n > o.longest:
		g.doubt = true
	case escaped && (o.shortest > 0 || o.words != nil):
		g.doubt = true // what it means is shorter, or another word
	case o.words != nil && !slices.ContainsFunc(o.words, func(w string) bool { return string(inner) == w }):
		g.doubt = true
	}
	return end
}

func (g *glance) number(o *outline, i int) int {
	end := g.skip(i)
	literal := g.text[i:end]
	fraction := bytes.ContainsAny(literal, ".eE")
	if fraction && !o.fractions {
		g.loose = append(g.loose, span{i, end})
	}
	if o.bounded {
		n, err := strconv.ParseInt(string(literal), 10, 64)
		g.doubt = g.doubt || err != nil || n < o.low || n > o.high || n <= o.above || n >= o.below
	}
	return end
}
