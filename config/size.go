package config

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"

	"github.com/dustin/go-humanize"
)

var sizeSyntax = regexp.MustCompile(`^(0|[1-9][0-9]*)(\.[0-9]+)? ?(B|[kKMG]B|[KMG]iB)$`)

// sizePattern is sizeSyntax for JSON Schema.
const sizePattern = `^(0|[1-9][0-9]*)(\.[0-9]+)? ?(B|[kKMG]B|[KMG]iB)$`

// ParseSize returns the number of bytes that text such as 256KB or 1.5 MiB means: kB, KB,
// MB and GB are powers of 1,000, KiB, MiB and GiB powers of 1,024. A unit is required, and
// the number of bytes is whole and at least 1.
func ParseSize(text string) (int64, error) {
	m := sizeSyntax.FindStringSubmatch(text[:min(len(text), 41)])
	if m == nil || len(text) > 40 {
		return 0, fmt.Errorf("%q is no size: write a number and one of B, KB, MB, GB, KiB, MiB and GiB, as in 256KB", clip(text))
	}
	unit, err := humanize.ParseBytes("1" + m[3])
	if err != nil {
		return 0, fmt.Errorf("%q is no size: %w", text, err)
	}
	// The digits are multiplied exactly: in floating point 1.001KB would be 1,000 bytes.
	n, _ := new(big.Rat).SetString(m[1] + m[2])
	n.Mul(n, new(big.Rat).SetUint64(unit))
	switch {
	case n.Sign() == 0:
		return 0, errors.New("a size must be at least 1B")
	case !n.IsInt():
		return 0, fmt.Errorf("%q is no whole number of bytes", text)
	case !n.Num().IsInt64():
		return 0, fmt.Errorf("%q is too large", text)
	}
	return n.Num().Int64(), nil
}

// sizeText writes a number of bytes the way the file would.
func sizeText(n int64) string {
	for _, unit := range []string{"GB", "MB", "KB", "GiB", "MiB", "KiB"} {
		if size, err := humanize.ParseBytes("1" + unit); err == nil && n >= int64(size) && n%int64(size) == 0 {
			return fmt.Sprintf("%d%s", n/int64(size), unit)
		}
	}
	return fmt.Sprintf("%dB", n)
}
