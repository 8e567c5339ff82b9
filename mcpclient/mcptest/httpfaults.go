package mcptest

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

const page = "<!doctype html><title>Sign in</title><p>Sign in to continue"

// web is the response that a behaviour of HTTP writes to.
func (t *turn) web() *httpWire { return t.wire.(*httpWire) }

func (t *turn) body(kind string, code int, text string) { t.web().body(kind, code, text) }

func (t *turn) redirect(to string) {
	t.web().w.Header().Set("Location", to)
	t.body("text/plain", orElse(t.fault.Code, http.StatusTemporaryRedirect), "moved")
}

func truncated(t *turn) {
	t.web().w.Header().Set("Content-Length", strconv.Itoa(len(t.frame())))
	t.write(string(t.half()))
	t.wire.abort(0)
}

func status(t *turn) {
	if t.fault.Text != "" {
		t.web().w.Header().Set("Retry-After", t.fault.Text)
	}
	t.body("text/plain", orElse(t.fault.Code, http.StatusInternalServerError), "")
	if t.fault.Size > 0 {
		t.fill('x', t.fault.Size)
	}
}

func hugeError(t *turn) {
	t.fault.Size = orElse(t.fault.Size, gigabyte)
	status(t)
}

func hugeEvent(t *turn) {
	t.web().begin("text/event-stream", http.StatusOK)
	_ = t.wire.stream(func(w io.Writer) error {
		_, _ = io.WriteString(w, "event: message\ndata: ")
		if err := t.writeHuge(w, `,"id":`+string(t.msg.ID), ""); err != nil {
			return err
		}
		_, err := io.WriteString(w, "\n")
		return err
	})
}

// hugeHeader writes below net/http, which would hold the header in memory.
func hugeHeader(t *turn) {
	t.hijack(func(w io.Writer) {
		_, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\nX-Huge: ")
		_ = fill(w, 'x', orElse(t.fault.Size, 16<<20))
	})
}

func slowHeaders(t *turn) {
	t.hijack(func(w io.Writer) {
		_, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\nX-Slow: ")
		for t.wait(t.web().server.closing, orElse(t.fault.Delay, 50*time.Millisecond)) {
			if _, err := io.WriteString(w, "x"); err != nil {
				return
			}
		}
	})
}

// hijack writes to the connection itself, and closes it.
func (t *turn) hijack(write func(io.Writer)) {
	t.web().began = true
	conn, _, err := t.web().ctl.Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	defer context.AfterFunc(t.web().server.closing, func() { _ = conn.Close() })()
	write(conn)
}

// compressionBomb repeats one packed block, as gzip allows.
func compressionBomb(t *turn) {
	const block = 1 << 20
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_ = fill(z, ' ', block)
	_ = z.Close()
	t.web().w.Header().Set("Content-Encoding", "gzip")
	t.fault.Size = orElse(t.fault.Size, gigabyte)
	_ = t.wire.stream(func(w io.Writer) error {
		for range (t.fault.Size + block - 1) / block {
			if _, err := w.Write(packed.Bytes()); err != nil {
				return err
			}
		}
		return nil
	})
}

func sessionGone(t *turn) {
	t.web().server.forget(t.web().session)
	t.body("text/plain", http.StatusNotFound, "no such session")
}

func retryYears(t *turn) {
	t.web().begin("text/event-stream", http.StatusOK)
	years := 10 * 365 * 24 * time.Hour
	t.write(fmt.Sprintf("id: 1\nretry: %d\ndata:\n\n", years.Milliseconds()))
}
