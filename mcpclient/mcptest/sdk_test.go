package mcptest

import (
	"context"
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A good server must be good by the judgement of another client.
func TestGoodServerWithSDKClient(t *testing.T) {
	for _, speaks := range []Generation{Legacy, Modern, Both} {
		for _, medium := range []media{stdio, overHTTP} {
			t.Run(medium.String()+" "+orElse(string(speaks), "both"), func(t *testing.T) {
				script := Good()
				script.Speaks, script.PageSize = speaks, 1
				script.Instructions, script.Name = "read me first", "good"
				script.Tools = append(script.Tools, Tool{Name: "sorry", Text: "no", IsError: true})
				converse(t, script, medium)
			})
		}
	}
}

func converse(t *testing.T, script Script, medium media) {
	transport, record := sdkTransport(t, script, medium)
	ctx, cancel := context.WithTimeout(t.Context(), guard)
	defer cancel()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := modernVersion
	if script.Speaks == Legacy {
		want = legacyVersion
	}
	if info := session.InitializeResult(); info.ProtocolVersion != want || info.ServerInfo.Name != "good" || info.Instructions != "read me first" {
		t.Errorf("%+v", info)
	}
	useTools(ctx, t, session)
	useResources(ctx, t, session)
	usePrompts(ctx, t, session)
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	seen := record()
	if calls, lists := seen.Count("tools/call"), seen.Count("tools/list"); calls != 2 || lists != 2 {
		t.Errorf("%d calls and %d lists are on record", calls, lists)
	}
}

func sdkTransport(t *testing.T, script Script, medium media) (mcp.Transport, func() Record) {
	if medium == overHTTP {
		server := script.HTTP(t)
		client := &http.Client{Transport: &http.Transport{}}
		t.Cleanup(client.CloseIdleConnections)
		return &mcp.StreamableClientTransport{Endpoint: server.URL, HTTPClient: client}, server.Record
	}
	script.Record = filepath.Join(t.TempDir(), "record")
	path, args := script.Command()
	return &mcp.CommandTransport{Command: exec.Command(path, args...)}, func() Record {
		record, err := ReadRecord(script.Record)
		if err != nil {
			t.Error(err)
		}
		return record
	}
}

func useTools(ctx context.Context, t *testing.T, session *mcp.ClientSession) {
	var names []string
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	if diff := cmp.Diff([]string{"echo", "sorry"}, names); diff != "" {
		t.Error(diff)
	}
	echo, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: json.RawMessage(`{"n":9007199254740993}`)})
	if err != nil || echo.IsError || echo.Content[0].(*mcp.TextContent).Text != `{"n":9007199254740993}` {
		t.Errorf("%+v, %v", echo, err)
	}
	sorry, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "sorry"})
	if err != nil || !sorry.IsError {
		t.Errorf("%+v, %v", sorry, err)
	}
}

func useResources(ctx context.Context, t *testing.T, session *mcp.ClientSession) {
	var found []string
	for r, err := range session.Resources(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, r.URI)
	}
	for r, err := range session.ResourceTemplates(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, r.URITemplate)
	}
	if diff := cmp.Diff([]string{"docs://readme", "docs://logo", "docs://pages/{page}"}, found); diff != "" {
		t.Error(diff)
	}
	for uri, want := range map[string]string{"docs://readme": "read me", "docs://logo": "\x89PNG\r\n\x1a\n", "docs://pages/7": "a page"} {
		got, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		if err != nil || got.Contents[0].Text+string(got.Contents[0].Blob) != want || got.Contents[0].URI != uri {
			t.Errorf("%s: %+v, %v", uri, got, err)
		}
	}
	if _, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "docs://other"}); err == nil {
		t.Error("there is no such resource")
	}
}

func usePrompts(ctx context.Context, t *testing.T, session *mcp.ClientSession) {
	list, err := session.ListPrompts(ctx, nil)
	if err != nil || list.Prompts[0].Arguments[0].Name != "text" {
		t.Errorf("%+v, %v", list, err)
	}
	repeat, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "repeat", Arguments: map[string]string{"text": "hi"}})
	if err != nil || repeat.Messages[0].Content.(*mcp.TextContent).Text != `{"text":"hi"}` {
		t.Errorf("%+v, %v", repeat, err)
	}
	show, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "show"})
	if err != nil || len(show.Messages) != 3 {
		t.Fatalf("%+v, %v", show, err)
	}
	embedded, ok := show.Messages[2].Content.(*mcp.EmbeddedResource)
	if !ok || embedded.Resource.Text != "read me" {
		t.Errorf("%+v", show.Messages[2].Content)
	}
}

// Its own requests reach the client, and what the client said is on record.
func TestServerRequestsWithSDKClient(t *testing.T) {
	for _, medium := range []media{stdio, overHTTP} {
		script := Good().With(
			Fault{At: CallTool, Do: AskPing}, Fault{At: CallTool, Do: AskSampling},
			Fault{At: CallTool, Do: AskRoots}, Fault{At: CallTool, Do: AskElicitation})
		script.Speaks = Legacy
		transport, record := sdkTransport(t, script, medium)
		ctx, cancel := context.WithTimeout(t.Context(), guard)
		defer cancel()
		session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, transport, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "echo"}); err != nil {
			t.Error(err)
		}
		_ = session.Close()
		for _, method := range []string{"ping", "sampling/createMessage", "roots/list", "elicitation/create"} {
			if got := record().Answers(method); len(got) != 1 {
				t.Errorf("%s, %s: %s", medium, method, got)
			}
		}
	}
}
