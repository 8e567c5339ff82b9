package jsonrpcserver

import (
	"bytes"
	"errors"
	"io"

	"github.com/cupule/cupule/internal/frame"
)

// ownBody is how much of a body a request may hold without asking.
const ownBody = 2 << 10

var errCrowded = errors.New("no room for the body")

// readBody reads all, into memory of the announced size, or into some that grows up to
// limit where none is announced; announced is negative then. What is large is read into
// memory that others use too, and is copied when it is complete.
func readBody(body io.Reader, announced, limit int, r *room, quit <-chan struct{}) ([]byte, error) {
	data, err := gatherBody(body, announced, limit, r, quit)
	large := cap(data) > middleMessage
	if large {
		defer frame.GiveBack(data)
	}
	switch {
	case err != nil:
		return nil, err
	case large:
		return bytes.Clone(data), nil
	}
	return data, nil
}

func gatherBody(body io.Reader, announced, limit int, r *room, quit <-chan struct{}) (data []byte, err error) {
	for size := announced; len(data) != announced; {
		if len(data) == cap(data) {
			if announced < 0 {
				size = nextSize(len(data), limit)
			}
			if !roomFor(size, r, quit) {
				return data, errCrowded
			}
			data = append(bodyMemory(size), data...)
		}
		var n int
		n, err = body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		r.came(n)
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return data, err
		}
	}
	return data, nil
}

func bodyMemory(size int) []byte {
	if size > middleMessage {
		return frame.Large(size)[:0]
	}
	return make([]byte, 0, size)
}

// nextSize returns how large memory becomes that is full, with one byte to find the end by.
func nextSize(full, limit int) int {
	switch {
	case full < ownBody:
		return min(ownBody, limit+1)
	case full < middleMessage:
		return min(middleMessage, limit+1)
	}
	return limit + 1
}

// roomFor claims what is due for memory of this size.
func roomFor(size int, r *room, quit <-chan struct{}) bool {
	return size <= ownBody || r.claim(size, quit)
}
