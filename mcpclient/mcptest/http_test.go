package mcptest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func event(message string) string { return "event: message\ndata: " + message + "\n\n" }

var httpTable = []struct {
	fault Fault
	want  string // status, content type, the first bytes of the body, and how it ended
}{
	{Fault{Do: Progress, Count: 1}, "200 text/event-stream " + event(note("progress", `{"progressToken":"tok","progress":1,"total":1,"message":"step 1"}`)) + event(good)},
	{Fault{Do: Twice}, "200 text/event-stream " + event(good) + event(good)},
	{Fault{Do: WrongID}, `200 application/json {"jsonrpc":"2.0","id":987654321,` + result + "}"},
	{Fault{Do: BOM}, "200 application/json \ufeff" + good},
	{Fault{Do: Banner, Text: "hi"}, "200 application/json hi\n" + good},
	{Fault{Do: HalfLine}, "200 application/json " + good[:len(good)/2] + " context canceled"},
	{Fault{Do: EndlessLine}, "200 application/json " + strings.Repeat("x", bodyLimit)},
	{Fault{Do: CrashBefore}, "EOF"},
	{Fault{Do: CrashAmid}, "200 application/json " + good[:len(good)/2] + " unexpected EOF"},
	{Fault{Do: Silent}, "context canceled"},

	{Fault{Do: RedirectSame}, "307 text/plain moved to /moved"},
	{Fault{Do: RedirectSame, Code: 301}, "301 text/plain moved to /moved"},
	{Fault{Do: RedirectSame, Code: 302}, "302 text/plain moved to /moved"},
	{Fault{Do: RedirectSame, Code: 303}, "303 text/plain moved to /moved"},
	{Fault{Do: RedirectSame, Code: 308}, "308 text/plain moved to /moved"},
	{Fault{Do: RedirectOther}, "307 text/plain moved to ELSEWHERE"},
	{Fault{Do: Redirect, Text: "http://other.invalid/"}, "307 text/plain moved to http://other.invalid/"},
	{Fault{Do: HTML}, "200 text/html " + page},
	{Fault{Do: Truncated}, "200 application/json " + good[:len(good)/2] + " unexpected EOF"},
	{Fault{Do: EmptyBody}, "200 application/json "},
	{Fault{Do: Status}, "500 text/plain "},
	{Fault{Do: Status, Code: 202}, "202 text/plain "},
	{Fault{Do: Status, Code: 204}, "204 text/plain "},
	{Fault{Do: Status, Code: 401, Size: 2}, "401 text/plain xx"},
	{Fault{Do: Status, Code: 503, Text: "9"}, "503 text/plain  after 9"},
	{Fault{Do: HugeBody}, "200 application/json " + (`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", bodyLimit))[:bodyLimit]},
	{Fault{Do: HugeEvent, Size: 3}, "200 text/event-stream " + event(answered(`"result":{"content":[{"type":"text","text":"xxx"}]}`))},
	{Fault{Do: HugeError}, "500 text/plain " + strings.Repeat("x", bodyLimit)},
	{Fault{Do: HugeHeader}, "server response headers exceeded 65536 bytes; aborted"},
	{Fault{Do: CompressionBomb}, "200 application/json \x1f\x8b"},
	{Fault{Do: SlowHeaders, Delay: time.Millisecond}, "context canceled"},
	{Fault{Do: StreamLeftOpen}, "200 text/event-stream " + event(good) + " context canceled"},
	{Fault{Do: SessionGone}, "404 text/plain no such session"},
	{Fault{Do: RetryYears}, "200 text/event-stream id: 1\nretry: 315360000000\ndata:\n\n"},
}

const bodyLimit = 1000

func TestBehavioursOverHTTP(t *testing.T) {
	for _, tt := range httpTable {
		t.Run(fmt.Sprint(tt.fault.Do, tt.fault.Code), func(t *testing.T) {
			t.Parallel()
			tt.fault.At = CallTool
			server := Good().With(tt.fault).HTTP(t)
			ctx, leave := context.WithTimeout(t.Context(), guard)
			defer leave()
			c := newCaller(ctx, t, server)
			if got := c.post(hello); !strings.HasPrefix(got, `200 application/json {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"`) {
				t.Fatal(got)
			}
			switch shown, leaves := strings.CutSuffix(tt.want, " context canceled"); {
			case leaves:
				c.enough = len(strings.SplitN(shown, " ", 3)[2])
			case tt.want == "context canceled":
				c.leaves = func() bool { return server.Record().Count("tools/call") > 0 }
			}
			got := strings.ReplaceAll(c.post(call), server.Elsewhere.URL, "ELSEWHERE")
			if tt.fault.Do == CompressionBomb {
				got = got[:len(tt.want)]
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if n := server.Record().Count("tools/call"); n != 1 {
				t.Errorf("%d calls on record", n)
			}
		})
	}
}

// caller posts messages as a client would, and tells in one line what came back.
type caller struct {
	ctx     context.Context
	t       *testing.T
	url     string
	client  *http.Client
	session string
	header  http.Header
	leaves  func() bool // leaves when this is so; nil is never
	enough  int         // leaves after so many bytes; zero is never
}

func newCaller(ctx context.Context, t *testing.T, server *HTTPServer) *caller {
	transport := &http.Transport{DisableCompression: true, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10}
	return &caller{ctx: ctx, t: t, url: server.URL, header: http.Header{}, client: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (c *caller) post(message string) string { return c.do(http.MethodPost, message) }

func (c *caller) do(method, message string) string {
	ctx, leave := context.WithCancel(c.ctx)
	defer leave()
	r, err := http.NewRequestWithContext(ctx, method, c.url, strings.NewReader(message))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header = c.header.Clone()
	if c.session != "" {
		r.Header.Set(sessionHeader, c.session)
	}
	if c.leaves != nil {
		go func() {
			for ctx.Err() == nil && !c.leaves() {
				time.Sleep(time.Millisecond)
			}
			leave()
		}()
	}
	resp, err := c.client.Do(r)
	if err != nil {
		return err.Error()[strings.LastIndex(err.Error(), ": ")+2:]
	}
	defer resp.Body.Close()
	if id := resp.Header.Get(sessionHeader); id != "" {
		c.session = id
	}
	return tell(resp, &leaver{resp.Body, c.enough, leave})
}

// leaver is a client that leaves when it has read enough.
type leaver struct {
	r      io.Reader
	enough int
	leave  func()
}

func (l *leaver) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.enough > 0 {
		if l.enough -= n; l.enough <= 0 {
			l.leave()
		}
	}
	return n, err
}

func tell(resp *http.Response, r io.Reader) string {
	body, err := io.ReadAll(io.LimitReader(r, bodyLimit))
	text := fmt.Sprintf("%d %s %s", resp.StatusCode, resp.Header.Get("Content-Type"), body)
	if to := resp.Header.Get("Location"); to != "" {
		text += " to " + to
	}
	if after := resp.Header.Get("Retry-After"); after != "" {
		text += " after " + after
	}
	if err != nil {
		text += " " + err.Error()
	}
	return text
}

func TestSessionsOverHTTP(t *testing.T) {
	server := Good().With(Fault{At: CallTool, Do: SessionGone, Skip: 1, Times: 1}).HTTP(t)
	c := newCaller(t.Context(), t, server)
	steps := []struct{ method, message, want string }{
		{"POST", call, `200 application/json {"jsonrpc":"2.0","id":7,"error":{"code":-32600`},
		{"POST", hello, `200 application/json {"jsonrpc":"2.0","id":1,"result"`},
		{"POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "202  "},
		{"POST", call, "404 text/plain no such session"},
		{"POST", call, "404 text/plain no such session"},
		{"POST", ping, "404 text/plain no such session"},
		{"POST", hello, `404 text/plain no such session`},
		{"new", hello, `200 application/json {"jsonrpc":"2.0","id":1,"result"`},
		{"POST", call, "200 application/json " + good},
		{"GET", "", "405  "},
		{"DELETE", "", "204  "},
		{"POST", ping, "404 text/plain no such session"},
		{"PUT", "", "405 text/plain; charset=utf-8 use POST\n"},
		{"POST", "no JSON", "400 application/json"},
	}
	for i, s := range steps {
		if s.method == "new" {
			c.session, s.method = "", "POST"
		}
		if got := c.do(s.method, s.message); !strings.HasPrefix(got, s.want) {
			t.Errorf("step %d: %s, want %s", i, got, s.want)
		}
	}
}

func TestStreamOfTheServersOwn(t *testing.T) {
	server := Good().With(Fault{At: Stream, Do: ListChanged}).HTTP(t)
	c := newCaller(t.Context(), t, server)
	want := "200 text/event-stream " + event(note("tools/list_changed", "{}"))
	if got := c.do("GET", ""); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if c.do("DELETE", ""); len(server.Record()) != 2 {
		t.Errorf("%+v", server.Record())
	}
}

func TestHeadersOfTheModernRevision(t *testing.T) {
	server := Good().HTTP(t)
	c := newCaller(t.Context(), t, server)
	modern := strings.Replace(call, `"_meta":{`, `"_meta":{"`+metaVersion+`":"`+modernVersion+`","`+metaCapabilities+`":{},`, 1)
	c.header.Set("Mcp-Protocol-Version", modernVersion)
	if got := c.post(modern); !strings.HasPrefix(got, "400 ") || !strings.Contains(got, "Mcp-Method") {
		t.Error(got)
	}
	c.header.Set("Mcp-Method", "tools/call")
	if got := c.post(modern); !strings.HasPrefix(got, "400 ") || !strings.Contains(got, "Mcp-Name") {
		t.Error(got)
	}
	c.header.Set("Mcp-Name", "echo")
	if got := c.post(modern); !strings.HasPrefix(got, `200 application/json {"jsonrpc":"2.0","id":7,"result":{"resultType":"complete",`) {
		t.Error(got)
	}
	if got := server.Record()[2]; got.Header.Get("Mcp-Name") != "echo" || got.HTTP != "POST /mcp" || got.Size != len(modern) {
		t.Errorf("%+v", got)
	}
}

func TestAbandonedCallsAreRecorded(t *testing.T) {
	server := Good().With(Fault{At: CallTool, Do: Silent}).HTTP(t)
	c := newCaller(t.Context(), t, server)
	c.post(hello)
	c.leaves = func() bool { return server.Record().Count("tools/call") > 0 }
	c.post(call)
	for deadline := time.Now().Add(guard); ; time.Sleep(time.Millisecond) {
		if left := server.Record().Of(Abandoned); len(left) == 1 && left[0].Method == "tools/call" && string(left[0].ID) == "7" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", server.Record())
		}
	}
}

func TestElsewhereAnswersWell(t *testing.T) {
	server := Good().With(Fault{At: Any, Do: RedirectOther}).HTTP(t)
	c := newCaller(t.Context(), t, server)
	c.client.CheckRedirect = nil
	c.header.Set("Authorization", "Bearer token")
	if got := c.post(hello); !strings.HasPrefix(got, "200 application/json") {
		t.Error(got)
	}
	if server.Elsewhere.Record().Count("initialize") != 1 || server.Record().Count("initialize") != 1 {
		t.Errorf("%+v", server.Elsewhere.Record())
	}
}

func TestHTTPS(t *testing.T) {
	script := Good()
	script.Stateless, script.Events = true, true
	server := script.HTTPS(t)
	if !strings.HasPrefix(server.URL, "https://127.0.0.1:") {
		t.Error(server.URL)
	}
	c := newCaller(t.Context(), t, server)
	c.client = server.Client()
	if got := c.post(call); got != "200 text/event-stream "+event(good) || c.session != "" {
		t.Error(got, c.session)
	}
	server.Client().CloseIdleConnections()
}
