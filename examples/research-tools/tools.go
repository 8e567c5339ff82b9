package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type query struct {
	Identifier string `json:"identifier" jsonschema:"such as doi:10.1000/182"`
}

type work struct {
	Identifier string   `json:"identifier"`
	Title      string   `json:"title"`
	Authors    []string `json:"authors"`
	Year       int      `json:"year"`
}

var works = []work{
	{"doi:10.1000/182", "DOI Handbook", []string{"International DOI Foundation"}, 2019},
	{"doi:10.1145/359576.359585", "Communicating Sequential Processes", []string{"C. A. R. Hoare"}, 1978},
	{"isbn:9780131103627", "The C Programming Language", []string{"Brian W. Kernighan", "Dennis M. Ritchie"}, 1988},
}

func resolve(_ context.Context, _ *mcp.CallToolRequest, q query) (*mcp.CallToolResult, work, error) {
	for _, w := range works {
		if strings.EqualFold(w.Identifier, q.Identifier) {
			return nil, w, nil
		}
	}
	return nil, work{}, fmt.Errorf("nothing is known under %q", q.Identifier)
}

type annotation struct {
	Text string `json:"text" jsonschema:"the line to append"`
}

type appended struct {
	Bytes int `json:"bytes"`
}

type annotator struct{ file string }

func (a annotator) annotate(_ context.Context, _ *mcp.CallToolRequest, note annotation) (*mcp.CallToolResult, appended, error) {
	f, err := os.OpenFile(a.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, appended{}, err
	}
	n, err := fmt.Fprintln(f, note.Text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return nil, appended{n}, err
}

type text struct {
	Text string `json:"text"`
}

type summary struct {
	Summary string `json:"summary"`
}

func summarise(_ context.Context, _ *mcp.CallToolRequest, t text) (*mcp.CallToolResult, summary, error) {
	words := strings.Fields(t.Text)
	return nil, summary{fmt.Sprintf("A text of %d words, beginning with: %s", len(words), strings.Join(words[:min(6, len(words))], " "))}, nil
}

type steps struct {
	Steps        int `json:"steps" jsonschema:"how far to count, at most 100"`
	Milliseconds int `json:"milliseconds,omitempty" jsonschema:"pause between steps, 100 if not given"`
}

type counted struct {
	Counted int `json:"counted"`
}

func slow(ctx context.Context, req *mcp.CallToolRequest, s steps) (*mcp.CallToolResult, counted, error) {
	pause := time.Duration(s.Milliseconds) * time.Millisecond
	if pause <= 0 {
		pause = 100 * time.Millisecond
	}
	total := min(s.Steps, 100)
	for i := range total {
		select {
		case <-ctx.Done():
			return nil, counted{i}, ctx.Err()
		case <-time.After(pause):
		}
		if err := report(ctx, req, i+1, total); err != nil {
			return nil, counted{i}, err
		}
	}
	return nil, counted{total}, nil
}

func report(ctx context.Context, req *mcp.CallToolRequest, done, total int) error {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	return req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: token, Progress: float64(done), Total: float64(total), Message: fmt.Sprintf("step %d of %d", done, total),
	})
}
