package servers

import (
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/cupule/cupule/bench/internal/echo"
	"github.com/cupule/cupule/bench/internal/load"
	"github.com/cupule/cupule/bench/internal/measure"
	"github.com/cupule/cupule/bench/internal/testchild"
)

func TestMain(m *testing.M) { testchild.Main(m) }

type driver interface {
	Run(measure.Load) (time.Duration, error)
	Close() error
}

// drive serves a contestant in this process and connects to it.
func drive(t testing.TB, s Server, text string, callers int) driver {
	t.Helper()
	at := Place{Address: filepath.Join(t.TempDir(), "s"), Child: testchild.Path(t)}
	if s.HTTP {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		at.Address = l.Addr().String()
		l.Close()
	}
	stop, err := s.Serve(at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stop() })
	d, err := connect(s, at.Address, text, callers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func connect(s Server, address, text string, callers int) (driver, error) {
	verify := echo.Result(text)
	if s.Verify != nil {
		verify = s.Verify(text)
	}
	switch {
	case s.GRPC:
		return DialGRPC(address, text)
	case s.HTTP:
		return load.DialHTTP(address, "/rpc", callers, s.Request(text), verify)
	}
	conn, err := net.Dial("unix", address)
	if err == nil && s.Greets {
		err = load.Greet(conn)
	}
	if err != nil {
		return nil, err
	}
	return load.NewStream(conn, s.Framing, callers, s.Request(text), verify), nil
}

func TestEveryServerEchoes(t *testing.T) {
	for _, s := range append(All(), Gateways()...) {
		for _, size := range []int{200, 20_000} {
			t.Run(fmt.Sprintf("%s/%d", s.Name, size), func(t *testing.T) {
				if _, err := drive(t, s, echo.Text(size), 4).Run(measure.Load{Callers: 4, Calls: 20}); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestAMegabyte(t *testing.T) {
	for _, s := range All() {
		t.Run(s.Name, func(t *testing.T) {
			if _, err := drive(t, s, echo.Text(1_000_000), 1).Run(measure.Load{Callers: 1, Calls: 2}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFind(t *testing.T) {
	for _, name := range []string{Cupule, RawMCP, SDKProxy} {
		if s, err := Find(name); err != nil || s.Name != name {
			t.Errorf("%s: %v, %v", name, s.Name, err)
		}
	}
	if _, err := Find("nobody"); err == nil {
		t.Error("nobody was found")
	}
}

// BenchmarkServer has client and server in one process, for profiles.
func BenchmarkServer(b *testing.B) {
	for _, s := range append(All(), Gateways()...) {
		for _, callers := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("%s/%d", s.Name, callers), func(b *testing.B) {
				d := drive(b, s, echo.Text(200), callers)
				b.ReportAllocs()
				b.ResetTimer()
				if _, err := d.Run(measure.Load{Callers: callers, Calls: b.N}); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

// BenchmarkMegabyte is BenchmarkServer with one caller and a megabyte, for profiles.
func BenchmarkMegabyte(b *testing.B) {
	for _, s := range All() {
		b.Run(s.Name, func(b *testing.B) {
			d := drive(b, s, echo.Text(1_000_000), 1)
			b.ReportAllocs()
			b.ResetTimer()
			if _, err := d.Run(measure.Load{Callers: 1, Calls: b.N}); err != nil {
				b.Fatal(err)
			}
		})
	}
}
