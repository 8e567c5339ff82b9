package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cupule/cupule/bench/internal/servers"
)

// drawn returns the plot of one table.
func drawn(t *testing.T, of table) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), plotFile)
	if ok, err := plotTables([]table{of}, file); err != nil || !ok {
		t.Fatal(ok, err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// textOf returns the element that writes a text; empty where it isn't written just once.
func textOf(svg, text string) string {
	found := regexp.MustCompile(`<text [^>]*>`+regexp.QuoteMeta(text)+`</text>`).FindAllString(svg, -1)
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

func TestNamesInThePlot(t *testing.T) {
	svg := drawn(t, small())
	for name, weight := range map[string]string{servers.Cupule: "bold", servers.CupuleLength: "bold", servers.Floor: "normal"} {
		if got := textOf(svg, name); !strings.Contains(got, "font-weight:"+weight) || !strings.Contains(got, `text-anchor="end"`) {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, label := range []string{"1 caller", "8 callers"} { // one legend, and no name
		if got := textOf(svg, label); got == "" || strings.Contains(got, "text-anchor") {
			t.Errorf("%s: %q", label, got)
		}
	}
}

func TestDotsThatCoincideAreAllSeen(t *testing.T) {
	radii := []float64{}
	for i := range shades {
		radii = append(radii, -dot(i).Radius.Points())
	}
	if !slices.IsSorted(radii) || len(slices.Compact(radii)) < len(shades) || radii[len(radii)-1] > -2 {
		t.Errorf("radii %v", radii)
	}
}

func TestNothingToPlot(t *testing.T) {
	file := filepath.Join(t.TempDir(), plotFile)
	if ok, err := plotTables([]table{{ID: "engine"}}, file); ok || err != nil {
		t.Error(ok, err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("an empty plot was written")
	}
}
