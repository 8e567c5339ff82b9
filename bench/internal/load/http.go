package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/cupule/cupule/bench/internal/echo"
	"github.com/cupule/cupule/bench/internal/measure"
)

// HTTP is a connection for each caller, kept alive from call to call.
type HTTP struct {
	callers []httpCaller
	verify  echo.Verify
}

type httpCaller struct {
	conn  net.Conn
	in    *bufio.Reader
	frame []byte
	body  bytes.Buffer
	known []byte
}

// DialHTTP connects all callers to HOST:PORT, to post to path.
func DialHTTP(host, path string, callers int, request echo.Request, verify echo.Verify) (*HTTP, error) {
	h := &HTTP{verify: verify, callers: make([]httpCaller, callers)}
	for i := range h.callers {
		conn, err := net.Dial("tcp", host)
		if err != nil {
			return nil, errors.Join(err, h.Close())
		}
		message := request(i + 1)
		frame := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			path, host, len(message), message)
		h.callers[i] = httpCaller{conn: conn, in: bufio.NewReaderSize(conn, 64<<10), frame: frame}
	}
	return h, nil
}

// Run makes the calls of a load.
func (h *HTTP) Run(load measure.Load) (time.Duration, error) {
	limit := time.Now().Add(Patience)
	for i := range h.callers {
		if err := h.callers[i].conn.SetDeadline(limit); err != nil {
			return 0, err
		}
	}
	took, err := measure.Calls(load, func(i int) error { return h.callers[i].call(h.verify) })
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = ErrSilent
	}
	return took, err
}

func (c *httpCaller) call(verify echo.Verify) error {
	if _, err := c.conn.Write(c.frame); err != nil {
		return err
	}
	answer, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return err
	}
	c.body.Reset()
	if _, err := io.Copy(&c.body, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s: %.200q", answer.Status, c.body.Bytes())
	}
	if bytes.Equal(c.body.Bytes(), c.known) {
		return nil
	}
	c.known = bytes.Clone(c.body.Bytes())
	return verify(c.known)
}

// Close ends all connections.
func (h *HTTP) Close() error {
	var all []error
	for i := range h.callers {
		if c := h.callers[i].conn; c != nil {
			all = append(all, c.Close())
		}
	}
	return errors.Join(all...)
}
