package interop

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image/png"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cupule/cupule/mcpclient"
	"github.com/cupule/cupule/registry"
)

func call(t *testing.T, c *mcpclient.Client, tool, args string) *mcpclient.Result {
	t.Helper()
	r, err := c.CallTool(t.Context(), "everything", tool, json.RawMessage(args), everybody)
	if err != nil {
		t.Fatalf("%s %s: %v", tool, args, err)
	}
	return r
}

func typed(t *testing.T, r *mcpclient.Result) *mcp.CallToolResult {
	t.Helper()
	result, err := r.Typed()
	if err != nil {
		t.Fatalf("%v: %s", err, r.Raw)
	}
	return result
}

// text returns the text of a result that has one block of it.
func text(t *testing.T, r *mcpclient.Result) string {
	t.Helper()
	content := typed(t, r).Content
	if len(content) == 1 {
		if block, ok := content[0].(*mcp.TextContent); ok {
			return block.Text
		}
	}
	t.Fatalf("want one block of text: %s", r.Raw)
	return ""
}

func TestTools(t *testing.T) {
	overBoth(t, func(t *testing.T, c *mcpclient.Client) {
		for _, row := range []struct{ tool, args, want string }{
			{"echo", `{"message":"<&> \u2028 é 😀 \"\\"}`, "Echo: <&> \u2028 é 😀 \"\\"},
			{"echo", `{"message":""}`, "Echo: "},
			{"get-sum", `{"a":1.5,"b":-2}`, "The sum of 1.5 and -2 is -0.5."},
			{"toggle-subscriber-updates", "", "Started simulated resource updated notifications for session "},
		} {
			if got := text(t, call(t, c, row.tool, row.args)); !strings.HasPrefix(got, row.want) {
				t.Errorf("%s %s: %q, want %q", row.tool, row.args, got, row.want)
			}
		}
		r := call(t, c, "get-sum", `{"a":"one"}`)
		if !r.IsError || !strings.Contains(text(t, r), "-32602") {
			t.Errorf("wrong arguments: %s", r.Raw)
		}
	})
}

func TestStructuredContent(t *testing.T) {
	overBoth(t, func(t *testing.T, c *mcpclient.Client) {
		r := call(t, c, "get-structured-content", `{"location":"Chicago"}`)
		var result struct{ StructuredContent json.RawMessage }
		if err := json.Unmarshal(r.Raw, &result); err != nil {
			t.Fatal(err)
		}
		// The keys are in the server's order, which a decoded and encoded result would not keep.
		if want := `{"temperature":36,"conditions":"Light rain / drizzle","humidity":82}`; string(result.StructuredContent) != want {
			t.Errorf("%s", result.StructuredContent)
		}
	})
}

func TestImage(t *testing.T) {
	overBoth(t, func(t *testing.T, c *mcpclient.Client) {
		content := typed(t, call(t, c, "get-tiny-image", "")).Content
		if len(content) != 3 {
			t.Fatalf("%d blocks", len(content))
		}
		block, ok := content[1].(*mcp.ImageContent)
		if !ok || block.MIMEType != "image/png" {
			t.Fatalf("%+v", content[1])
		}
		// The server's picture has a wrong checksum in its colour profile, so it is not decoded.
		picture, err := png.DecodeConfig(bytes.NewReader(block.Data))
		if err != nil || picture.Width != 20 || picture.Height != 20 || len(block.Data) != 4033 {
			t.Errorf("%d bytes, %+v, %v", len(block.Data), picture, err)
		}
	})
}

func TestAnnotations(t *testing.T) {
	overBoth(t, func(t *testing.T, c *mcpclient.Client) {
		content := typed(t, call(t, c, "get-annotated-message", `{"messageType":"error","includeImage":true}`)).Content
		if len(content) != 2 {
			t.Fatalf("%d blocks", len(content))
		}
		said, ok := content[0].(*mcp.TextContent)
		want := &mcp.Annotations{Priority: 1, Audience: []mcp.Role{"user", "assistant"}}
		if !ok || cmp.Diff(want, said.Annotations) != "" {
			t.Errorf("%+v", content[0])
		}
		if image, ok := content[1].(*mcp.ImageContent); !ok || image.Annotations.Priority != 0.5 {
			t.Errorf("%+v", content[1])
		}
	})
}

func TestResourceLinks(t *testing.T) {
	overBoth(t, func(t *testing.T, c *mcpclient.Client) {
		content := typed(t, call(t, c, "get-resource-links", `{"count":2}`)).Content
		if len(content) != 3 {
			t.Fatalf("%d blocks", len(content))
		}
		link, ok := content[2].(*mcp.ResourceLink)
		if !ok || link.URI != "demo://resource/dynamic/text/2" || link.MIMEType != "text/plain" {
			t.Errorf("%+v", content[2])
		}
		content = typed(t, call(t, c, "get-resource-reference", `{"resourceType":"Blob","resourceId":7}`)).Content
		held, ok := content[1].(*mcp.EmbeddedResource)
		if !ok || held.Resource.URI != "demo://resource/dynamic/blob/7" || !strings.Contains(string(held.Resource.Blob), "Resource 7") {
			t.Errorf("%+v", content[1])
		}
	})
}

func TestEmbeddedArchive(t *testing.T) {
	overBoth(t, func(t *testing.T, c *mcpclient.Client) {
		data := "data:text/plain;base64," + base64.StdEncoding.EncodeToString([]byte("hello"))
		r := call(t, c, "gzip-file-as-resource", quote(map[string]string{"name": "hello.gz", "data": data, "outputType": "resource"}))
		held, ok := typed(t, r).Content[0].(*mcp.EmbeddedResource)
		if !ok || held.Resource.MIMEType != "application/gzip" || !bytes.HasPrefix(held.Resource.Blob, []byte{0x1f, 0x8b}) {
			t.Errorf("%s", r.Raw)
		}
	})
}

// Tools that server-everything has for other clients, or that no client can use like this.
func TestToolsThatCannotBeCalled(t *testing.T) {
	overBoth(t, func(t *testing.T, c *mcpclient.Client) {
		for _, row := range []struct {
			tool string
			kind registry.Kind
			ran  registry.Ran
		}{
			{"trigger-sampling-request", registry.KindToolMissing, registry.NotSent},
			{"trigger-elicitation-request", registry.KindToolMissing, registry.NotSent},
			{"get-roots-list", registry.KindToolMissing, registry.NotSent},
			{"get-nothing", registry.KindToolMissing, registry.NotSent},
			{"not-in-the-file", registry.KindMethodNotFound, registry.NotSent},
		} {
			_, err := c.CallTool(t.Context(), "everything", row.tool, nil, everybody)
			wantError(t, err, row.kind, row.ran)
		}
		// This one is only for clients that ask for a task.
		r, err := c.CallTool(t.Context(), "everything", "simulate-research-query", json.RawMessage(`{"topic":"oaks"}`), everybody)
		if err != nil || !r.IsError || !strings.Contains(text(t, r), "requires task augmentation") {
			t.Errorf("%v %v", r, err)
		}
	})
}
