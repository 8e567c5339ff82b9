package mcpclient

import (
	"bytes"
	"io"
)

// lineEnds reads a stream of events with every line end as a line feed: the standard knows
// a carriage return, a line feed, and both together. It never waits for what a carriage return may
// be followed by.
type lineEnds struct {
	r  io.Reader
	cr bool // the last byte was a carriage return
}

// Read reads at most len(p) bytes.
func (l *lineEnds) Read(p []byte) (int, error) {
	for {
		n, err := l.r.Read(p)
		if n = l.turn(p[:n]); n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
	}
}

// turn turns line ends in place, and returns how many bytes are left.
func (l *lineEnds) turn(p []byte) int {
	if len(p) == 0 || !l.cr && bytes.IndexByte(p, '\r') < 0 {
		return len(p)
	}
	n := 0
	for _, c := range p {
		second := l.cr && c == '\n'
		l.cr = c == '\r'
		switch {
		case second:
			continue
		case l.cr:
			c = '\n'
		}
		p[n] = c
		n++
	}
	return n
}
