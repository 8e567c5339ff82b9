package strictjson

import (
	"bytes"
	"hash/maphash"
)

// few is the number of keys in one object up to which each is compared with all others.
const few = 16

// DuplicateKey finds the first key in a valid text that stands in its object already, at
// any depth, compared after unescaping. The pointer is a JSON pointer to it. The text is
// smaller than 2 GiB.
func DuplicateKey(data []byte) (pointer string, found bool) { return duplicate(data, MaxDepth) }

// DuplicateMember is DuplicateKey for the keys of the outermost object alone.
func DuplicateMember(data []byte) (pointer string, found bool) { return duplicate(data, 1) }

// duplicate looks at the keys of objects that are nested at most depth deep.
func duplicate(data []byte, depth int) (pointer string, found bool) {
	var someKeys [2 * few]span
	var someObjects [few / 2]object
	w := walker{data: data, keys: someKeys[:0], open: someObjects[:0]}
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{':
			w.open = append(w.open, object{first: int32(len(w.keys))})
			w.due = true
		case '[':
			w.open = append(w.open, object{first: -1})
			w.due = false
		case '}', ']':
			w = w.close()
		case ',':
			w.due = len(w.open) > 0 && w.open[len(w.open)-1].first >= 0
		case '"':
			end, escaped, _ := Quoted(data, i)
			if w.due && len(w.open) <= depth {
				var k span
				w, k = w.span(i+1, end-1, escaped)
				if w, found = w.add(k); found {
					return PointerTo(data, i), true
				}
			}
			w.due = false
			i = end - 1
		}
	}
	return "", false
}

// walker knows the open objects and their keys. It is passed by value and holds offsets in
// place of slices, which keeps it and its first few keys off the heap.
type walker struct {
	data    []byte
	unquote []byte // the meaning of keys that hold escapes
	keys    []span // of all open objects, innermost last
	open    []object
	due     bool // a key is due
}

// object is an open object, or an array where first is -1.
type object struct {
	first int32  // its first key in walker.keys
	table *table // of its keys, once they are more than a few
}

// span is a key: a part of the text, or of walker.unquote.
// Small spans keep the stack small that a call needs, which fresh goroutines feel.
type span struct{ begin, end uint32 }

// inUnquote marks the begin of a span in walker.unquote.
const inUnquote = 1 << 31

func (w walker) span(begin, end int, escaped bool) (walker, span) {
	if !escaped {
		return w, span{uint32(begin), uint32(end)}
	}
	start := uint32(len(w.unquote))
	w.unquote = AppendUnescaped(w.unquote, w.data[begin:end])
	return w, span{start | inUnquote, uint32(len(w.unquote))}
}

func (w walker) bytes(k span) []byte {
	if k.begin&inUnquote != 0 {
		return w.unquote[k.begin&^inUnquote : k.end]
	}
	return w.data[k.begin:k.end]
}

func (w walker) same(a, b span) bool { return bytes.Equal(w.bytes(a), w.bytes(b)) }

func (w walker) close() walker {
	if n := len(w.open) - 1; n >= 0 {
		if first := w.open[n].first; first >= 0 {
			w.keys = w.keys[:first]
		}
		w.open = w.open[:n]
	}
	w.due = false
	return w
}

// add adds a key to the innermost object and reports whether it was there.
func (w walker) add(k span) (walker, bool) {
	o := &w.open[len(w.open)-1]
	if o.table != nil {
		return w, o.table.add(w, k)
	}
	keys := w.keys[o.first:]
	for _, other := range keys {
		if w.same(k, other) {
			return w, true
		}
	}
	if len(keys) < few {
		w.keys = append(w.keys, k)
		return w, false
	}
	o.table = newTable()
	for _, other := range keys {
		o.table.add(w, other)
	}
	return w, o.table.add(w, k)
}

// table is a set of keys with open addressing. Its seed is random, so that a peer can't
// choose keys that collide. Slots hold positions in keys, from 1.
type table struct {
	seed  maphash.Seed
	keys  []span
	slots []uint32
}

func newTable() *table {
	return &table{seed: maphash.MakeSeed(), slots: make([]uint32, 8*few)}
}

// add reports whether the key was there already.
func (t *table) add(w walker, k span) bool {
	if 2*len(t.keys) >= len(t.slots) {
		t.grow(w)
	}
	slot := t.find(w, k)
	if t.slots[slot] != 0 {
		return true
	}
	t.keys = append(t.keys, k)
	t.slots[slot] = uint32(len(t.keys))
	return false
}

// find returns the slot where the key is or belongs.
func (t *table) find(w walker, k span) uint64 {
	mask := uint64(len(t.slots) - 1)
	slot := maphash.Bytes(t.seed, w.bytes(k)) & mask
	for t.slots[slot] != 0 && !w.same(k, t.keys[t.slots[slot]-1]) {
		slot = (slot + 1) & mask
	}
	return slot
}

func (t *table) grow(w walker) {
	t.slots = make([]uint32, 4*len(t.slots))
	for i, k := range t.keys {
		t.slots[t.find(w, k)] = uint32(i + 1)
	}
}
