package main

import (
	"encoding/json"
	"testing"

	"github.com/cupule/cupule/bench/internal/echo"
	"github.com/cupule/cupule/bench/internal/measure"
)

func params(tb testing.TB) json.RawMessage {
	tb.Helper()
	text, err := json.Marshal(echo.Params{Text: echo.Text(200)})
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

func TestEngineContestantsAnswer(t *testing.T) {
	list, err := engineContestants(params(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if s, err := c.Run(measure.Load{Callers: 1, Calls: 300}); err != nil || s.PerCall <= 0 {
			t.Errorf("%s: %+v, %v", c.Name, s, err)
		}
	}
}

func TestWrongAnswersOfTheEngineAreFound(t *testing.T) {
	if _, err := deciding("x", authority(), false).Run(measure.Load{Calls: 1}); err == nil {
		t.Error("a wrong decision was taken")
	}
	if same([]byte("a"), []byte("b")) == nil {
		t.Error("a wrong result was taken")
	}
	if typedBare(echo.Params{Text: "x"}, 3) != nil {
		t.Error("the bare function gives another value")
	}
	if counted(1, 2) == nil {
		t.Error("a wrong count was taken")
	}
	if typedPlain(json.RawMessage(`{"text": "spaced"}`)) == nil {
		t.Error("another encoding was taken")
	}
}

// BenchmarkEngine is for profiles.
func BenchmarkEngine(b *testing.B) {
	list, err := engineContestants(params(b))
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range list {
		b.Run(c.Name, func(b *testing.B) {
			b.ReportAllocs()
			if _, err := c.Run(measure.Load{Callers: 1, Calls: b.N}); err != nil {
				b.Fatal(err)
			}
		})
	}
}
