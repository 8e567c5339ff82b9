package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// reader reads messages into one buffer.
type reader struct {
	in   *bufio.Reader
	long []byte
}

// next returns a message, which is valid until the next call.
func (r *reader) next(framing Framing) ([]byte, error) {
	if framing == ContentLength {
		return r.counted()
	}
	return r.line()
}

// line copies only what is longer than the buffer of the reader.
func (r *reader) line() ([]byte, error) {
	r.long = r.long[:0]
	for {
		piece, err := r.in.ReadSlice('\n')
		if err == nil && len(r.long) == 0 {
			return bytes.TrimSpace(piece), nil
		}
		r.long = append(r.long, piece...)
		if err == nil {
			return bytes.TrimSpace(r.long), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

// counted reads headers and then as many bytes as they say.
func (r *reader) counted() ([]byte, error) {
	length := -1
	for {
		header, err := r.in.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		header = bytes.TrimSpace(header)
		if len(header) == 0 {
			break
		}
		if n, ok := bytes.CutPrefix(header, []byte("Content-Length:")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(n))); err != nil {
				return nil, err
			}
		}
	}
	if length < 0 {
		return nil, fmt.Errorf("a message without Content-Length")
	}
	if cap(r.long) < length {
		r.long = make([]byte, length)
	}
	r.long = r.long[:length]
	_, err := io.ReadFull(r.in, r.long)
	return r.long, err
}
