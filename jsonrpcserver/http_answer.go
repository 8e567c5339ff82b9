package jsonrpcserver

import (
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/cupule/cupule/registry"
)

// fail answers a request that isn't judged as JSON-RPC.
func (x *exchange) fail(status int, err *registry.Error) {
	x.send(status, appendError(nil, nil, err))
}

// refuseCaller answers a request of nobody who is known.
func (x *exchange) refuseCaller(reason string) {
	x.web.server.failedToAuthenticate("http", x.r.RemoteAddr, reason)
	x.w.Header().Set("WWW-Authenticate", `Bearer realm="`+x.web.opts.Path+`"`)
	x.refuse(http.StatusUnauthorized, unauthenticated(reason))
}

// refuse answers a request whose body hasn't been read, and reads on for a moment, so that
// the client finds the answer. Package http would do that for longer, and with more memory.
func (x *exchange) refuse(status int, err *registry.Error) {
	body := appendError(nil, nil, err)
	x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if x.r.ProtoMajor != 1 {
		x.send(status, body) // other requests on the connection go on
		return
	}
	x.w.Header().Set("Connection", "close")
	x.send(status, body)
	control := http.NewResponseController(x.w)
	_ = control.Flush()
	_ = control.SetReadDeadline(time.Now().Add(lingerTime))
	_, _ = io.CopyBuffer(onlyWriter{io.Discard}, io.LimitReader(x.r.Body, maxLinger), make([]byte, 512))
	_ = control.SetReadDeadline(time.Unix(1, 0))
}

// onlyWriter hides the methods of a writer that bring a buffer of their own.
type onlyWriter struct{ io.Writer }

// send answers with JSON, within the time that this much of it may take.
func (x *exchange) send(status int, body []byte) {
	x.web.limitWrite(x.w, x.r, x.account, len(body))
	x.w.Header()["Content-Type"] = x.web.json
	if len(body) > writePiece/128 || x.r.ProtoMajor != 1 {
		x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body)
	if x.r.ProtoMajor != 1 { // or it would be sent when the call's slot is free already
		_ = http.NewResponseController(x.w).Flush()
	}
}
