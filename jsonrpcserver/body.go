package jsonrpcserver

import (
	"errors"
	"io"
)

// ownBody is how much of a body a request may hold without asking.
const ownBody = 2 << 10

var errCrowded = errors.New("no room for the body")

// readBody reads all, into memory of the announced size, or into some that grows up to
// limit where none is announced; announced is negative then.
func readBody(body io.Reader, announced, limit int, r *room, quit <-chan struct{}) (data []byte, err error) {
	for size := announced; len(data) != announced; {
		if len(data) == cap(data) {
			if announced < 0 {
				size = nextSize(len(data), limit)
			}
			if !roomFor(size, limit, announced < 0, r, quit) {
				return nil, errCrowded
			}
			data = append(make([]byte, 0, size), data...)
		}
		var n int
		n, err = body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		r.came(n)
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return data, nil
}

// nextSize returns how large memory becomes that is full, with one byte to find the end by.
func nextSize(full, limit int) int {
	switch {
	case full < ownBody:
		return min(ownBody, limit+1)
	case full < middleMessage:
		return min(middleMessage, limit+1)
	}
	return min(4*full, limit+1)
}

// roomFor claims what is due for memory of this size: all that it may become where that
// isn't known.
func roomFor(size, limit int, unknown bool, r *room, quit <-chan struct{}) bool {
	switch {
	case size <= ownBody:
		return true
	case unknown && size > middleMessage:
		size = limit + 1
	}
	return r.hold != nil && r.hold.size == size || r.claim(size, quit)
}
