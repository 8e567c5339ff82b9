package config

import (
	"math"
	"strings"
	"testing"

	"github.com/dustin/go-humanize"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"1B": 1, "256KB": 256_000, "256kB": 256_000, "1KiB": 1024, "1.5 MiB": 1_572_864, "64MiB": 64 << 20,
		"1.001KB": 1001, "4.35KB": 4350, "0.5KB": 500, "2GB": 2_000_000_000, "1.0B": 1,
		"": 0, "1": 0, "0": 0, "0B": 0, "0.0KB": 0, "1e": 0, "1eB": 0, "1E": 0, "1EB": 0, "1,00": 0, "1,000B": 0, "0.9B": 0, "1.0001KB": 0,
		"-1KB": 0, "+1KB": 0, " 1KB": 0, "1KB ": 0, "1  KB": 0, "01KB": 0, ".5KB": 0, "1.KB": 0, "KB": 0, "1kb": 0, "1Kib": 0,
		"9223372036854775807B": math.MaxInt64, "9223372036854775808B": 0, "99999999999999999999GiB": 0,
		"1٣KB": 0, "１KB": 0, "1KB\n": 0, "1\u00a0KB": 0,
	} {
		got, err := ParseSize(text)
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestSizeText(t *testing.T) {
	for want, n := range map[string]int64{"256KB": 256_000, "64MiB": 64 << 20, "1B": 1, "1001B": 1001, "1GB": 1e9, "1KiB": 1024} {
		if got := sizeText(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// What ParseSize accepts means what go-humanize says, up to its rounding, and is printed
// and read back as the same number.
func FuzzSize(f *testing.F) {
	for _, seed := range []string{"256KB", "1.5 MiB", "1e", "0.9B", "1,00", "16EB", "1.001KB", "9999999999999GiB"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseSize(text)
		if err != nil {
			if n != 0 {
				t.Errorf("%q: %d beside %v", text, n, err)
			}
			return
		}
		if n <= 0 || strings.ContainsAny(text, "eE,+-\t\n") {
			t.Fatalf("%q: %d", text, n)
		}
		oracle, err := humanize.ParseBytes(text)
		if err != nil {
			t.Fatalf("%q: %d, but humanize says %v", text, n, err)
		}
		if math.Abs(float64(oracle)-float64(n)) > 1+float64(n)*1e-9 {
			t.Errorf("%q: %d, but humanize says %d", text, n, oracle)
		}
		if again, err := ParseSize(sizeText(n)); err != nil || again != n {
			t.Errorf("%q: %d is printed as %s, read as %d, %v", text, n, sizeText(n), again, err)
		}
	})
}
