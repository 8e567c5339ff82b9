package clients

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/cupule/cupule/bench/internal/mcpraw"
	"github.com/cupule/cupule/bench/internal/stdio"
)

// maxLine is the longest line that is read.
const maxLine = 128 << 20

// reply is a reply as encoding/json sees it.
type reply struct {
	ID     uint64          `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// hand is the floor: a client that someone writes who trusts the server. It has no
// deadlines, no limits, and no idea what to do when something goes wrong.
type hand struct {
	child *stdio.Child
	end   chan struct{} // closed when the server says no more

	writing sync.Mutex // guards what follows
	line    []byte

	mu   sync.Mutex // guards what follows
	last uint64
	wait map[uint64]chan reply
}

func openFloor(t Target) (func() error, func() error, error) {
	if t.URL != "" {
		return openFloorHTTP(t)
	}
	child, err := stdio.Start(t.Child)
	if err != nil {
		return nil, nil, err
	}
	h := &hand{child: child, end: make(chan struct{}), wait: map[uint64]chan reply{}}
	go h.read()
	if err := h.begin(); err != nil {
		return nil, nil, errors.Join(err, h.close())
	}
	call, err := floorCall(t, h.ask)
	return call, h.close, err
}

// floorCall calls the tool of a target through ask.
func floorCall(t Target, ask func(method string, params any) (json.RawMessage, error)) (func() error, error) {
	name, args, want := t.tool()
	c := &rawCheck{want: want}
	return func() error {
		result, err := ask("tools/call", map[string]any{"name": name, "arguments": args})
		if err != nil {
			return err
		}
		return c.check(result)
	}, nil
}

// begin shakes hands and reads the list of tools.
func (h *hand) begin() error {
	if _, err := h.ask("initialize", handshake()); err != nil {
		return err
	}
	h.writing.Lock()
	_, err := io.WriteString(h.child, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	h.writing.Unlock()
	if err != nil {
		return err
	}
	_, err = h.ask("tools/list", struct{}{})
	return err
}

func handshake() any {
	return map[string]any{
		"protocolVersion": mcpraw.Protocol, "capabilities": struct{}{},
		"clientInfo": map[string]string{"name": "hand", "version": "1"},
	}
}

// ask sends one request and waits for its reply.
func (h *hand) ask(method string, params any) (json.RawMessage, error) {
	p, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	mine := make(chan reply, 1)
	h.mu.Lock()
	h.last++
	id := h.last
	h.wait[id] = mine
	h.mu.Unlock()
	if err := h.write(id, method, p); err != nil {
		return nil, err
	}
	select {
	case r := <-mine:
		if r.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, r.Error)
		}
		return r.Result, nil
	case <-h.end:
		return nil, io.ErrUnexpectedEOF
	}
}

func (h *hand) write(id uint64, method string, params []byte) error {
	h.writing.Lock()
	defer h.writing.Unlock()
	h.line = append(strconv.AppendUint(append(h.line[:0], `{"jsonrpc":"2.0","id":`...), id, 10), `,"method":"`...)
	h.line = append(append(append(append(h.line, method...), `","params":`...), params...), "}\n"...)
	_, err := h.child.Write(h.line)
	return err
}

func (h *hand) read() {
	defer close(h.end)
	lines := bufio.NewScanner(h.child)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for lines.Scan() {
		var r reply
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			return
		}
		h.mu.Lock()
		mine := h.wait[r.ID]
		delete(h.wait, r.ID)
		h.mu.Unlock()
		if mine != nil {
			mine <- r
		}
	}
}

func (h *hand) close() error {
	err := h.child.Close()
	<-h.end
	return err
}

// openFloorHTTP posts each request with net/http.
func openFloorHTTP(t Target) (func() error, func() error, error) {
	c := wideClient()
	ask := func(method string, params any) (json.RawMessage, error) {
		body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
		if err != nil {
			return nil, err
		}
		return post(c, t.URL, body)
	}
	if err := beginHTTP(c, t.URL, ask); err != nil {
		return nil, nil, err
	}
	call, err := floorCall(t, ask)
	return call, func() error { c.CloseIdleConnections(); return nil }, err
}

// beginHTTP shakes hands and reads the list of tools.
func beginHTTP(c *http.Client, url string, ask func(string, any) (json.RawMessage, error)) error {
	if _, err := ask("initialize", handshake()); err != nil {
		return err
	}
	answer, err := send(c, url, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	if err != nil {
		return err
	}
	if err := answer.Body.Close(); err != nil {
		return err
	}
	_, err = ask("tools/list", struct{}{})
	return err
}

func send(c *http.Client, url string, body []byte) (*http.Response, error) {
	q, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept", "application/json, text/event-stream")
	q.Header.Set("Mcp-Protocol-Version", mcpraw.Protocol)
	return c.Do(q)
}

func post(c *http.Client, url string, body []byte) (json.RawMessage, error) {
	answer, err := send(c, url, body)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var r reply
	if err := json.NewDecoder(answer.Body).Decode(&r); err != nil {
		return nil, err
	}
	if r.Error != nil {
		return nil, fmt.Errorf("%s", r.Error)
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return r.Result, err
}

// wideClient keeps a connection for each of many callers.
func wideClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 256, 256
	return &http.Client{Transport: t}
}
