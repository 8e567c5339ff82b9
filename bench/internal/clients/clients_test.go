package clients

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/cupule/cupule/bench/internal/echo"
	"github.com/cupule/cupule/bench/internal/mcpraw"
	"github.com/cupule/cupule/bench/internal/measure"
	"github.com/cupule/cupule/bench/internal/testchild"
)

func TestMain(m *testing.M) { testchild.Main(m) }

func open(t testing.TB, c Client, target Target) func() error {
	t.Helper()
	call, closing, err := c.Open(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closing(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return call
}

func TestEveryClientEchoes(t *testing.T) {
	for _, c := range All() {
		for _, size := range []int{0, 1, 1 << 20} {
			t.Run(fmt.Sprintf("%s/%d", c.Name, size), func(t *testing.T) {
				call := open(t, c, Target{Child: testchild.Path(t), Size: size})
				if _, err := measure.Calls(measure.Load{Callers: 2, Calls: 6}, func(int) error { return call() }); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// endpoint is a trivial MCP server over HTTP.
func endpoint(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		body, err = mcpraw.Reply(body)
	}
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
	case body == nil:
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	}
}

func TestEveryClientEchoesOverHTTP(t *testing.T) {
	for _, c := range All() {
		if c.OverStdio {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(endpoint))
			defer s.Close()
			call := open(t, c, Target{URL: s.URL})
			for range 3 {
				if err := call(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestWrongTextsAreFound(t *testing.T) {
	want := echo.Text(5000)
	for name, got := range map[string]string{
		"shorter": want[1:], "begins otherwise": "x" + want[1:], "ends otherwise": want[:4999] + "x", "empty": "",
	} {
		if checkText(got, want) == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if err := checkText(want, want); err != nil {
		t.Error(err)
	}
}

func TestRawResultsAreDecodedOnce(t *testing.T) {
	result := func(text string) []byte { return fmt.Appendf(nil, `{"content":[{"type":"text","text":%q}]}`, text) }
	c := &rawCheck{want: "right"}
	for _, wrong := range []string{string(result("wrong")), `{"isError":true,"content":[{"text":"right"}]}`, `{}`, `{`} {
		if c.check([]byte(wrong)) == nil {
			t.Errorf("%s: taken", wrong)
		}
	}
	for range 2 {
		if err := c.check(result("right")); err != nil {
			t.Error(err)
		}
	}
	if c.check(result("wrong")) == nil {
		t.Error("a wrong result was taken after a right one")
	}
}

// BenchmarkClient has the client in this process and the server in a child, for profiles.
func BenchmarkClient(b *testing.B) {
	for _, c := range All() {
		for _, callers := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("%s/%d", c.Name, callers), func(b *testing.B) {
				call := open(b, c, Target{Child: testchild.Path(b)})
				b.ReportAllocs()
				b.ResetTimer()
				if _, err := measure.Calls(measure.Load{Callers: callers, Calls: b.N}, func(int) error { return call() }); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

// BenchmarkClientHTTP has client and server in this process, for profiles.
func BenchmarkClientHTTP(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(endpoint))
	defer s.Close()
	for _, c := range All() {
		if c.OverStdio {
			continue
		}
		for _, callers := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("%s/%d", c.Name, callers), func(b *testing.B) {
				call := open(b, c, Target{URL: s.URL})
				b.ReportAllocs()
				b.ResetTimer()
				if _, err := measure.Calls(measure.Load{Callers: callers, Calls: b.N}, func(int) error { return call() }); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

// BenchmarkLargeResult reads 32 MiB from a child, for profiles.
func BenchmarkLargeResult(b *testing.B) {
	for _, name := range []string{Cupule, CupuleTyped, Floor, SDK, MCPGo} {
		b.Run(name, func(b *testing.B) {
			c, err := Find(name)
			if err != nil {
				b.Fatal(err)
			}
			call := open(b, c, Target{Child: testchild.Path(b), Size: 32 << 20})
			b.ReportAllocs()
			for b.Loop() {
				if err := call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
