package mcpclient

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cupule/cupule/config"
	"github.com/cupule/cupule/internal/frame"
)

// readAll returns the data of every message event, and how the stream ended.
func readAllEvents(r io.Reader, limit int) ([]string, error) {
	e := events{in: frame.NewLines(&lineEnds{r: r}, 64), limit: limit}
	var list []string
	for {
		data, err := e.next()
		if err != nil {
			return list, err
		}
		list = append(list, string(data))
	}
}

func TestEventStream(t *testing.T) {
	for _, row := range []struct {
		in   string
		want []string
		err  error
	}{
		{"data: a\n\ndata:b\n\n", []string{"a", "b"}, io.EOF},
		{"\xef\xbb\xbfdata: a\n\n", []string{"a"}, io.EOF},
		{"data: a\r\ndata:  b\r\n\r\n", []string{"a\n b"}, io.EOF},
		{"data: a\rdata:  b\r\rdata: c\r\r", []string{"a\n b", "c"}, io.EOF},
		{"data: a\r\r\ndata: b\n\r", []string{"a", "b"}, io.EOF},
		{"data: a\n\rdata: b\r\n\r", []string{"a", "b"}, io.EOF},
		{"data: a\r", nil, io.EOF},
		{"data: a\\r\n\n", []string{`a\r`}, io.EOF},
		{": comment\nid: 7\nretry: 99999999999\nevent: message\ndata: a\n\n", []string{"a"}, io.EOF},
		{"event: other\ndata: a\n\ndata: b\n\n", []string{"b"}, io.EOF},
		{"event: prime\nid: 1\n\ndata: b\n\n", []string{"b"}, io.EOF},
		{"data\n\ndata: b\n\n", []string{"b"}, io.EOF},
		{"database: a\n\n", nil, io.EOF},
		{"data: a\n", nil, io.EOF},
		{"data: a", nil, io.ErrUnexpectedEOF},
		{"data: " + strings.Repeat("x", 200) + "\n\n", nil, errEventTooLong},
		{strings.Repeat("data: xxxxxxxxxx\n", 20) + "\n", nil, errEventTooLong},
	} {
		for _, in := range []io.Reader{strings.NewReader(row.in), iotest.OneByteReader(strings.NewReader(row.in)), iotest.DataErrReader(strings.NewReader(row.in))} {
			got, err := readAllEvents(in, 100)
			if diff := cmp.Diff(row.want, got); diff != "" || !errors.Is(err, row.err) {
				t.Errorf("%.60q: %v %s", row.in, err, diff)
			}
		}
	}
}

// TestBookmark takes ids with whole events only, and retry times that are numbers.
func TestBookmark(t *testing.T) {
	for _, row := range []struct {
		in    string
		id    string
		retry time.Duration
	}{
		{"id: 7\ndata: a\n\n", "7", 0},
		{"id: 7\n\nid: 8\ndata: a\n", "7", 0},
		{"id: 7\n\ndata: a\n\n", "7", 0},
		{"id: 7\n\nid\n\n", "", 0},
		{"id: 7\n\nid: a\x00b\n\n", "7", 0},
		{"id: é \n\n", "é ", 0},
		{"retry: 2500\n", "", 2500 * time.Millisecond},
		{"retry: 1\n", "", minPause},
		{"retry: 30001\n", "", maxPause},
		{"retry: 18446744073709551617\n", "", maxPause},
		{"retry: -1\nretry: 2s\nretry:\nretry\n", "", 0},
	} {
		var mark bookmark
		e := newEvents(strings.NewReader(row.in), 100)
		e.mark = &mark
		for err := error(nil); err == nil; {
			_, err = e.next()
		}
		if string(mark.id) != row.id || mark.retry != row.retry {
			t.Errorf("%q: %q %v", row.in, mark.id, mark.retry)
		}
	}
}

// FuzzEvents compares with a reading of the whole stream by lines.
func FuzzEvents(f *testing.F) {
	for _, s := range []string{"data: a\n\ndata:b\n\n", "event: x\ndata: a\n\n", "data: a\r\ndata: b\r\n\r\n", "data: a\r\rdata: b\r\n\n", ":\n\n\ndata\n\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := readAllEvents(strings.NewReader(in), 1<<16)
		if errors.Is(err, errEventTooLong) || strings.Contains(in, "\ufeff") {
			return
		}
		var want []string
		data, name, any := "", "", false
		lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(in), "\n")
		for _, line := range lines[:len(lines)-1] {
			field, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch {
			case line == "":
				if data != "" && (name == "" || name == "message") {
					want = append(want, data)
				}
				data, name, any = "", "", false
			case field == "event":
				name = value
			case field == "data":
				if any && data != "" {
					data += "\n"
				}
				data, any = data+value, true
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q: %s", in, diff)
		}
	})
}

// TestEventsEndedByReturns takes an answer from a stream whose lines end in a carriage return
// alone, and that says no more.
func TestEventsEndedByReturns(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m := parse(body)
		method, _ := text(m.method)
		if m.id == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: message\rdata: {\"jsonrpc\":\"2.0\",\rdata: \"id\":"+string(m.id)+",\"result\":"+fatList(method, fatTool("echo", `"title":"t"`))+"}\r\r")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer web.Close()
	s := webServer(web.URL, rule("echo"))
	s.Protocol = legacy
	c := newClient(t, map[string]*config.Server{"web": s})
	if _, err := c.CallTool(t.Context(), "web", "echo", nil, nobody); err != nil {
		t.Error(err)
	}
}
