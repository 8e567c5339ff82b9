package mcptest

import (
	"io"
	"net/http"
	"sync"
)

// httpWire writes a server's messages into the response to one request: as a JSON body where
// there is one message, as events where there are more.
type httpWire struct {
	server  *HTTPServer
	session string
	w       http.ResponseWriter
	ctl     *http.ResponseController

	mu     sync.Mutex // one writer at a time
	began  bool
	events bool
}

func (w *httpWire) send(message []byte, last bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.began && (!last || w.server.peer.script.Events) {
		w.events = true
		w.begin("text/event-stream", http.StatusOK)
	}
	if w.events {
		message = append(append([]byte("event: message\ndata: "), message...), "\n\n"...)
	}
	w.begin("application/json", http.StatusOK)
	if _, err := w.w.Write(message); err != nil {
		return err
	}
	return w.ctl.Flush()
}

func (w *httpWire) begin(kind string, code int) {
	if !w.began {
		w.began = true
		w.w.Header().Set("Content-Type", kind)
		w.w.WriteHeader(code)
	}
}

func (w *httpWire) stream(write func(io.Writer) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begin("application/json", http.StatusOK)
	if err := write(w.w); err != nil {
		return err
	}
	return w.ctl.Flush()
}

func (w *httpWire) body(kind string, code int, text string) {
	w.begin(kind, code)
	_, _ = io.WriteString(w.w, text)
}

// abort drops the connection.
func (w *httpWire) abort(int) {
	if w.began {
		_ = w.ctl.Flush()
	}
	panic(http.ErrAbortHandler)
}
