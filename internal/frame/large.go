package frame

import "sync"

// larges are buffers that no message needs at the moment, of *[]byte. Where peers begin
// large messages and are cut off, they save the collector a megabyte each.
var larges sync.Pool

// Large returns memory of this size, which may have been used before.
func Large(size int) []byte {
	if b, ok := larges.Get().(*[]byte); ok && cap(*b) >= size {
		return (*b)[:size]
	}
	return make([]byte, size)
}

// GiveBack lets others use memory that Large returned. Nobody may hold a part of it.
func GiveBack(b []byte) {
	b = b[:cap(b)]
	larges.Put(&b)
}
