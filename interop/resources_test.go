package interop

import (
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cupule/cupule/mcpclient"
	"github.com/cupule/cupule/registry"
)

func TestResources(t *testing.T) {
	overBoth(t, func(t *testing.T, c *mcpclient.Client) {
		list, err := c.ListResources(t.Context(), "everything", everybody)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(list, func(r mcpclient.Resource) bool {
			return r.URI == "demo://resource/static/document/features.md"
		})
		if i < 0 || len(list) != 7 {
			t.Fatalf("%d resources, features.md is at %d", len(list), i)
		}
		if about, err := list[i].Typed(); err != nil || about.Name != "features.md" || about.MIMEType != "text/markdown" {
			t.Errorf("%+v %v", about, err)
		}
		if content := read(t, c, list[i].URI); !strings.Contains(content.Text, "# Everything Server") {
			t.Errorf("%.300s", content.Text)
		}
		if content := read(t, c, "demo://resource/dynamic/text/42"); !strings.HasPrefix(content.Text, "Resource 42: This is a plaintext resource") {
			t.Errorf("%+v", content)
		}
		if content := read(t, c, "demo://resource/dynamic/blob/42"); !strings.HasPrefix(string(content.Blob), "Resource 42: This is a base64 blob") {
			t.Errorf("%+v", content)
		}
		_, err = c.ReadResource(t.Context(), "everything", "demo://resource/dynamic/text/none", everybody)
		wantError(t, err, registry.KindUpstreamError, registry.Completed)
		_, err = c.ReadResource(t.Context(), "everything", "file:///etc/passwd", everybody)
		wantError(t, err, registry.KindMethodNotFound, registry.NotSent)
	})
}

func read(t *testing.T, c *mcpclient.Client, uri string) *mcp.ResourceContents {
	t.Helper()
	r, err := c.ReadResource(t.Context(), "everything", uri, everybody)
	if err != nil {
		t.Fatalf("%s: %v", uri, err)
	}
	result, err := r.Typed()
	if err != nil || len(result.Contents) != 1 || result.Contents[0].URI != uri {
		t.Fatalf("%s: %v: %s", uri, err, r.Raw)
	}
	return result.Contents[0]
}

func TestResourceTemplates(t *testing.T) {
	overBoth(t, func(t *testing.T, c *mcpclient.Client) {
		list, err := c.ListResourceTemplates(t.Context(), "everything", everybody)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, template := range list {
			found = append(found, template.URITemplate)
		}
		want := []string{"demo://resource/dynamic/text/{resourceId}", "demo://resource/dynamic/blob/{resourceId}"}
		if !slices.Equal(found, want) {
			t.Errorf("%q", found)
		}
	})
}

func TestPrompts(t *testing.T) {
	overBoth(t, func(t *testing.T, c *mcpclient.Client) {
		list, err := c.ListPrompts(t.Context(), "everything", everybody)
		if err != nil || len(list) != 4 {
			t.Fatalf("%d prompts, %v", len(list), err)
		}
		for _, row := range []struct {
			prompt string
			args   map[string]string
			want   string
		}{
			{"simple-prompt", nil, "This is a simple prompt without arguments."},
			{"args-prompt", map[string]string{"city": "Köln"}, "What's weather in Köln?"},
			{"args-prompt", map[string]string{"city": "Köln", "state": "NRW"}, "What's weather in Köln, NRW?"},
			{"completable-prompt", map[string]string{"department": "Sales", "name": "Eve"}, "Please promote Eve to the head of the Sales team."},
		} {
			block, ok := get(t, c, row.prompt, row.args)[0].Content.(*mcp.TextContent)
			if !ok || block.Text != row.want {
				t.Errorf("%s %v: %+v", row.prompt, row.args, block)
			}
		}
		messages := get(t, c, "resource-prompt", map[string]string{"resourceType": "Text", "resourceId": "3"})
		held, ok := messages[1].Content.(*mcp.EmbeddedResource)
		if !ok || !strings.HasPrefix(held.Resource.Text, "Resource 3: ") {
			t.Errorf("%+v", messages[1])
		}
		_, err = c.GetPrompt(t.Context(), "everything", "args-prompt", nil, everybody)
		wantError(t, err, registry.KindUpstreamError, registry.Completed)
		_, err = c.GetPrompt(t.Context(), "everything", "no-prompt", nil, everybody)
		wantError(t, err, registry.KindMethodNotFound, registry.NotSent)
	})
}

func get(t *testing.T, c *mcpclient.Client, prompt string, args map[string]string) []*mcp.PromptMessage {
	t.Helper()
	r, err := c.GetPrompt(t.Context(), "everything", prompt, args, everybody)
	if err != nil {
		t.Fatalf("%s: %v", prompt, err)
	}
	result, err := r.Typed()
	if err != nil || len(result.Messages) == 0 {
		t.Fatalf("%s: %v: %s", prompt, err, r.Raw)
	}
	return result.Messages
}
