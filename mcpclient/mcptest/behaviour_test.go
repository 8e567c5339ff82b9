package mcptest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	hello  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`
	call   = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"progressToken":"tok"},"name":"echo","arguments":{"a":1}}}`
	list   = `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`
	ping   = `{"jsonrpc":"2.0","id":8,"method":"ping"}`
	result = `"result":{"content":[{"text":"{\"a\":1}","type":"text"}],"structuredContent":{"a":1}}`
	good   = `{"jsonrpc":"2.0","id":7,` + result + `}`
	pong   = `{"jsonrpc":"2.0","id":8,"result":{}}`
	echo   = `{"description":"Give the arguments back","inputSchema":{"type":"object"},"name":"echo"}`
)

func request(method, params string) string {
	return `{"jsonrpc":"2.0","id":"ask-1","method":"` + method + `","params":` + params + `}`
}

func note(method, params string) string {
	return `{"jsonrpc":"2.0","method":"notifications/` + method + `","params":` + params + `}`
}

func answered(content string) string { return `{"jsonrpc":"2.0","id":7,` + content + `}` }

func listed(rest string) string { return answered(`"result":{` + rest + `}`) }

var stdioTable = []struct {
	fault Fault
	want  []string // what the server writes to a call or list and, behind it, a ping
}{
	{Fault{Do: Silent}, []string{pong}},
	{Fault{Do: Silent, Skip: 1}, []string{good, pong}},
	{Fault{Do: Silent, Tool: "other"}, []string{good, pong}},
	{Fault{Do: Late}, []string{pong, good}},
	{Fault{Do: Banner, Text: "hi"}, []string{"hi", good, pong}},
	{Fault{Do: BOM}, []string{"\ufeff" + good, pong}},
	{Fault{Do: HalfLine}, []string{good[:len(good)/2] + pong}},
	{Fault{Do: EndlessLine}, []string{strings.Repeat("x", 64<<10)}},
	{Fault{Do: HugeLine, Size: 70_000}, []string{strings.Repeat("x", 70_000), good, pong}},
	{Fault{Do: HugeResult, Size: 9}, []string{answered(`"result":{"content":[{"type":"text","text":"xxxxxxxxx"}]}`), pong}},
	{Fault{Do: HugeResultIDLast, Size: 1}, []string{`{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"x"}]},"id":7}`, pong}},
	{Fault{Do: Flood, Count: 2, Size: 1}, []string{
		note("message", `{"data":"x","level":"info","logger":"mcptest"}`), note("message", `{"data":"x","level":"info","logger":"mcptest"}`), good, pong,
	}},
	{Fault{Do: Stderr}, []string{good, pong}},
	{Fault{Do: Progress, Count: 1}, []string{note("progress", `{"progressToken":"tok","progress":1,"total":1,"message":"step 1"}`), good, pong}},
	{Fault{Do: Progress, Count: 1, JSON: json.RawMessage("5")}, []string{note("progress", `{"progressToken":5,"progress":1,"total":1,"message":"step 1"}`), good, pong}},
	{Fault{Do: Log, Text: "l"}, []string{note("message", `{"data":"l","level":"info","logger":"mcptest"}`), good, pong}},
	{Fault{Do: ListChanged}, []string{note("tools/list_changed", "{}"), good, pong}},
	{Fault{Do: Notify, JSON: json.RawMessage(`{"b":2}`)}, []string{note("unknown", `{"b":2}`), good, pong}},
	{Fault{Do: AskPing}, []string{request("ping", "{}"), pong, good}},
	{Fault{Do: AskSampling}, []string{request("sampling/createMessage", askSampling), pong, good}},
	{Fault{Do: AskRoots}, []string{request("roots/list", "{}"), pong, good}},
	{Fault{Do: AskElicitation}, []string{request("elicitation/create", askElicitation), pong, good}},
	{Fault{Do: WrongID}, []string{`{"jsonrpc":"2.0","id":987654321,` + result + `}`, pong}},
	{Fault{Do: DuplicateID}, []string{`{"jsonrpc":"2.0","id":1,` + result + `}`, pong}},
	{Fault{Do: FractionalID}, []string{`{"jsonrpc":"2.0","id":7.7,` + result + `}`, pong}},
	{Fault{Do: StringID}, []string{`{"jsonrpc":"2.0","id":"7",` + result + `}`, pong}},
	{Fault{Do: NullID}, []string{`{"jsonrpc":"2.0","id":null,` + result + `}`, pong}},
	{Fault{Do: OutOfOrder}, []string{pong, good}},
	{Fault{Do: Twice}, []string{good, good, pong}},
	{Fault{Do: NullResult}, []string{answered(`"result":null`), pong}},
	{Fault{Do: UnknownResultType}, []string{answered(`"result":{"resultType":"perhaps","content":[]}`), pong}},
	{Fault{Do: InputRequired, JSON: json.RawMessage("{}")}, []string{answered(`"result":{"resultType":"input_required","inputRequests":{},"requestState":"s"}`), pong}},
	{Fault{Do: BothResultAndError}, []string{answered(`"result":{"content":[]},"error":{"code":-32603,"message":"scripted error"}`), pong}},
	{Fault{Do: NeitherResultNorError}, []string{`{"jsonrpc":"2.0","id":7}`, pong}},
	{Fault{Do: ErrorReply, Code: 5, Text: "no"}, []string{answered(`"error":{"code":5,"message":"no"}`), pong}},
	{Fault{Do: InvalidJSON}, []string{good[:len(good)-1], pong}},
	{Fault{Do: Reply, JSON: json.RawMessage(`[1]`)}, []string{answered(`"result":[1]`), pong}},
	{Fault{Do: Raw, JSON: json.RawMessage(`[{"id":"$id"}]`)}, []string{`[{"id":7}]`, pong}},
	{Fault{Do: Raw, Text: `{"id":`}, []string{`{"id":`, pong}},
	{Fault{Do: CrashBefore, Code: 3}, []string{"exit 3"}},
	{Fault{Do: CrashAmid}, []string{good[:len(good)/2] + "exit 1"}},
	{Fault{Do: CrashAfter}, []string{good, "exit 1"}},
	{Fault{At: ListTools, Do: PageForever}, []string{listed(`"tools":[` + echo + `],"nextCursor":"cursor-1"`), pong}},
	{Fault{At: ListTools, Do: RepeatCursor}, []string{listed(`"tools":[` + echo + `],"nextCursor":"again"`), pong}},
	{Fault{At: ListTools, Do: EntryTwice}, []string{listed(`"tools":[` + echo + "," + echo + "]"), pong}},
	{Fault{At: ListTools, Do: NullList}, []string{listed(`"tools":null`), pong}},
	{Fault{At: ListTools, Do: NullEntry}, []string{listed(`"tools":[null]`), pong}},
	{Fault{At: ListTools, Do: NoList}, []string{listed(``), pong}},
	{Fault{At: ListTools, Do: MalformedEntry, JSON: json.RawMessage("7")}, []string{listed(`"tools":[7,` + echo + `]`), pong}},
	{Fault{At: ListTools, Do: CyclicSchema}, []string{listed(`"tools":[` + echo + `,{"inputSchema":` + cyclicSchema + `,"name":"cyclic"}]`), pong}},
	{Fault{At: ListTools, Do: RemoteSchema}, []string{listed(`"tools":[` + echo + `,{"inputSchema":{"type":"object","$ref":"` + remoteSchema + `"},"name":"remote"}]`), pong}},
	{Fault{At: CallTool, Do: NullList}, []string{good, pong}}, // lists nothing, changes nothing
}

func TestBehavioursOnAPipe(t *testing.T) {
	for _, tt := range stdioTable {
		tt.fault.At = orElse(tt.fault.At, CallTool)
		ask := call
		if tt.fault.At == ListTools {
			ask = list
		}
		t.Run(string(tt.fault.Do), func(t *testing.T) {
			_, got := talk(t, Good().With(tt.fault), hello, ask, ping)
			if tt.fault.Do == EndlessLine && len(got[1]) > len(tt.want[0]) {
				got[1] = got[1][:len(tt.want[0])]
			}
			if diff := cmp.Diff(tt.want, got[1:]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// sinkLimit is how much a server can write in a test of this kind.
const sinkLimit = 100_000

type sink struct{ bytes.Buffer }

func (s *sink) Write(p []byte) (int, error) {
	if room := sinkLimit - s.Len(); len(p) > room {
		n, _ := s.Buffer.Write(p[:max(0, room)])
		return n, errors.New("full")
	}
	return s.Buffer.Write(p)
}

// talk runs a script over memory and returns its peer and the lines that it wrote.
func talk(t *testing.T, script Script, lines ...string) (p *peer, written []string) {
	synctest.Test(t, func(t *testing.T) {
		if err := script.check(stdio); err != nil {
			t.Fatal(err)
		}
		r, w := io.Pipe()
		var out sink
		wire := &lineWire{out: &out}
		wire.exit = func(code int) {
			fmt.Fprintf(&out, "exit %d", code)
			_ = r.Close()
			runtime.Goexit()
		}
		p = newPeer(script, &recorder{})
		served := make(chan struct{})
		go func() { defer close(served); p.serve(r, wire) }()
		for _, line := range lines {
			_, _ = io.WriteString(w, line+"\n")
			synctest.Wait()
		}
		time.Sleep(time.Hour) // of the bubble's own time: whatever is late has come by now
		_ = w.Close()
		<-served
		written = strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	})
	return p, written
}

func TestPages(t *testing.T) {
	script := Good().With(Fault{At: ListTools, Do: PageForever})
	next := `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":"cursor-1"}}`
	_, got := talk(t, script, hello, list, next)
	if want := listed(`"tools":[],"nextCursor":"cursor-2"`); got[2] != want {
		t.Errorf("%s, want %s", got[2], want)
	}
}

func TestCancelledCallIsNotAnswered(t *testing.T) {
	script := Good()
	script.Tools[0].Delay = time.Minute
	cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`
	p, got := talk(t, script, hello, call, cancel, ping)
	if diff := cmp.Diff([]string{pong}, got[1:]); diff != "" {
		t.Error(diff)
	}
	record := p.record.record()
	if diff := cmp.Diff([]string{"7"}, record.Cancelled()); diff != "" || record.Count("tools/call") != 1 {
		t.Errorf("%s\n%+v", diff, record)
	}
	if _, got := talk(t, script, hello, call, ping); got[2] != good {
		t.Error(got[2])
	}
}

func TestRepliesAreRecorded(t *testing.T) {
	reply := `{"jsonrpc":"2.0","id":"ask-1","error":{"code":-32601,"message":"no"}}`
	p, got := talk(t, Good().With(Fault{At: CallTool, Do: AskRoots}), hello, call, reply, ping)
	if diff := cmp.Diff([]string{request("roots/list", "{}"), good, pong}, got[1:]); diff != "" {
		t.Error(diff)
	}
	if answers := p.record.record().Answers("roots/list"); len(answers) != 1 || string(answers[0]) != reply {
		t.Errorf("%s", answers)
	}
}

func TestRefusals(t *testing.T) {
	modern := func(method, version, capabilities string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{"_meta":{"` + metaVersion + `":"` + version + `"` + capabilities + `}}}`
	}
	able := `,"` + metaCapabilities + `":{}`
	for _, tt := range []struct {
		speaks    Generation
		ask, want string
	}{
		{Both, call, `"error":{"code":-32600,"message":"tools/call came before initialize, and without a protocol version"}`},
		{Both, modern("tools/list", "2099-01-01", able), `"error":{"code":-32022,"message":"unsupported protocol version","data":{"supported":["2026-07-28"],"requested":"2099-01-01"}}`},
		{Both, modern("tools/list", modernVersion, ""), `"error":{"code":-32602,"message":"missing or invalid _meta field io.modelcontextprotocol/clientCapabilities"}`},
		{Modern, modern("ping", modernVersion, able), `"error":{"code":-32601,"message":"ping is no method of 2026-07-28"}`},
		{Modern, `{"jsonrpc":"2.0","id":7,"method":"initialize"}`, `"error":{"code":-32601,"message":"method not found: initialize"}`},
		{Legacy, modern("server/discover", modernVersion, able), `"error":{"code":-32601,"message":"method not found: server/discover"}`},
		{Both, modern("nonsense", modernVersion, able), `"error":{"code":-32601,"message":"method not found: nonsense"}`},
	} {
		script := Good()
		script.Speaks = tt.speaks
		if _, got := talk(t, script, tt.ask); len(got) != 1 || got[0] != answered(tt.want) {
			t.Errorf("%s\ngot  %s\nwant %s", tt.ask, got, answered(tt.want))
		}
	}
	if _, got := talk(t, Good(), "no JSON"); !strings.Contains(got[0], "-32700") {
		t.Error(got)
	}
}
