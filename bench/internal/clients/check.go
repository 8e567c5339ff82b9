package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/cupule/cupule/bench/internal/echo"
)

// ends is how much of a text is compared at both of its ends: what is longer is not
// compared whole at each call, lest comparing be what is measured.
const ends = 1 << 10

// checkText compares a decoded text with what is wanted.
func checkText(got, want string) error {
	n := min(ends, len(want))
	if len(got) != len(want) || got[:n] != want[:n] || got[len(got)-n:] != want[len(want)-n:] {
		return echo.Same(got, want, nil)
	}
	return nil
}

// rawCheck verifies results that stay raw: one is decoded and compared whole, and the
// others must be like it.
type rawCheck struct {
	want  string
	known atomic.Pointer[[]byte]
}

func (c *rawCheck) check(result []byte) error {
	if known := c.known.Load(); known != nil && alike(result, *known) {
		return nil
	}
	var r echo.Content
	if err := json.Unmarshal(result, &r); err != nil {
		return fmt.Errorf("%w: %.200q", err, result)
	}
	if err := echo.Same(r.Text(), c.want, result); err != nil {
		return err
	}
	known := bytes.Clone(result)
	c.known.Store(&known)
	return nil
}

func alike(a, b []byte) bool {
	n := min(ends, len(b))
	return len(a) == len(b) && bytes.Equal(a[:n], b[:n]) && bytes.Equal(a[len(a)-n:], b[len(b)-n:])
}
