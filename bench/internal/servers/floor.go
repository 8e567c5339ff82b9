package servers

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"

	"github.com/cupule/cupule/bench/internal/echo"
)

// request is a request as encoding/json sees it.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// handGathered is the floor with replies gathered: they are written when nothing more
// has been read.
func handGathered(conn net.Conn) {
	defer conn.Close()
	in, out := bufio.NewReaderSize(conn, 64<<10), bufio.NewWriterSize(conn, 64<<10)
	var message, reply []byte
	for {
		var err error
		if message, err = readLine(in, message[:0]); err != nil {
			return
		}
		if reply, err = answer(reply[:0], message); err != nil {
			return
		}
		_, err = out.Write(append(reply, '\n'))
		if err == nil && in.Buffered() == 0 {
			err = out.Flush()
		}
		if err != nil {
			return
		}
	}
}

// readLine appends a line, which may be longer than the reader's buffer.
func readLine(in *bufio.Reader, line []byte) ([]byte, error) {
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}

// handWritten is the floor: what a service needs that knows one method, trusts its peer,
// and has no limits, no errors and no authority to think of. Each reply is a write.
func handWritten(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewScanner(conn)
	in.Buffer(make([]byte, 64<<10), 4<<20)
	var out []byte
	for in.Scan() {
		var err error
		if out, err = answer(out[:0], in.Bytes()); err != nil {
			return
		}
		if _, err = conn.Write(append(out, '\n')); err != nil {
			return
		}
	}
}

// answer appends the reply to one request.
func answer(out, message []byte) ([]byte, error) {
	var r request
	if err := json.Unmarshal(message, &r); err != nil {
		return nil, err
	}
	result, err := echoJSON(r.Params)
	if err != nil {
		return nil, err
	}
	out = append(append(out, `{"jsonrpc":"2.0","id":`...), r.ID...)
	out = append(append(out, `,"result":`...), result...)
	return append(out, '}'), nil
}

// echoJSON is the handler's work, the same for all who leave it to their handlers.
func echoJSON(params json.RawMessage) (json.RawMessage, error) {
	var p echo.Params
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	return json.Marshal(p)
}

// servePlainHTTP is a plain handler of net/http.
func servePlainHTTP(at Place) (func() error, error) {
	return serveHTTP(at, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			body, err = answer(nil, body)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
	}))
}
