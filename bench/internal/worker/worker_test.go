package worker

import (
	"errors"
	"log"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cupule/cupule/bench/internal/measure"
)

// asWorker makes the test binary a worker.
const asWorker = "BENCH_TEST_WORKER"

func TestMain(m *testing.M) {
	switch os.Getenv(asWorker) {
	case "":
		os.Exit(m.Run())
	case "broken":
		os.Exit(3)
	}
	if err := Serve(os.Stdin, os.Stdout, allocate); err != nil {
		log.Fatal(err)
	}
}

var kept []byte

// Sizes that tell a worker what to do instead.
const (
	sizeToDie  = 1000
	sizeToHang = 2000
)

// allocate takes a kilobyte for each call, and refuses a size.
func allocate(o Order) (time.Duration, error) {
	switch {
	case o.Size == sizeToDie:
		os.Exit(4)
	case o.Size == sizeToHang:
		time.Sleep(time.Hour)
	case o.Size > 0:
		return 0, errors.New("no such size")
	}
	for range o.Calls {
		kept = make([]byte, 1<<10)
	}
	return 7 * time.Microsecond, nil
}

func start(t *testing.T) *Process {
	t.Helper()
	t.Setenv(asWorker, "1")
	p, err := Start(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func TestOrders(t *testing.T) {
	p := start(t)
	s, err := p.Run(measure.Load{Callers: 1, Calls: 1000}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if s.PerCall != 7000 || s.Allocs < 0.99 || s.Allocs > 1.2 || s.Bytes < 1<<10 || s.Bytes > 1<<11 {
		t.Errorf("%+v", s)
	}
	if _, err := p.Run(measure.Load{Calls: 1, Size: 1}, 0); err == nil || !strings.Contains(err.Error(), "no such size") {
		t.Errorf("error %v", err)
	}
	before, err := p.Do(Order{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(measure.Load{Callers: 1, Calls: 100}, 0); err != nil {
		t.Fatal(err)
	}
	if after, err := p.Do(Order{}); err != nil || after.Mallocs-before.Mallocs < 100 {
		t.Errorf("%+v, then %+v, %v", before, after, err)
	}
}

func TestAProcessThatDiesOrHangs(t *testing.T) {
	for want, size := range map[string]int{"the process has ended": sizeToDie, "no answer within 50ms": sizeToHang} {
		t.Setenv(asWorker, "1")
		p, err := Start(os.Args[0])
		if err != nil {
			t.Fatal(err)
		}
		p.patience = 50 * time.Millisecond
		if size == sizeToDie {
			p.patience = Patience
		}
		if _, err := p.Run(measure.Load{Calls: 1, Size: size}, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
		if p.Close() == nil {
			t.Errorf("%s: it ended well", want)
		}
	}
}

func TestAProcessThatDoesNotStart(t *testing.T) {
	t.Setenv(asWorker, "broken")
	if _, err := Start(os.Args[0]); err == nil || !strings.Contains(err.Error(), "did not start") {
		t.Errorf("error %v", err)
	}
}

func TestServeWithoutWorkReportsUsage(t *testing.T) {
	var out strings.Builder
	if err := Serve(strings.NewReader(`{"Calls":5}{}`), &out, nil); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(out.String(), `"Mallocs":`); lines != 2 {
		t.Errorf("%s", out.String())
	}
	if err := Serve(strings.NewReader(`[]`), &out, nil); err == nil {
		t.Error("an order that is none was taken")
	}
}

func TestPeak(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("the system has no /proc")
	}
	if n := peak(); n < 1<<20 || n > 1<<40 {
		t.Errorf("%d bytes", n)
	}
}
