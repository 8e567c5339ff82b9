package main

import (
	"bytes"
	"image/color"
	"math"
	"os"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Measures of the plot.
const (
	panelWidth  = 20 * vg.Centimeter
	panelHeight = 8 * vg.Centimeter
	dotRadius   = vg.Length(4)
)

// shades tell the numbers of callers apart.
var shades = []color.Color{color.RGBA{R: 0x1b, G: 0x5e, B: 0x7f, A: 255}, color.RGBA{R: 0x5f, G: 0xa8, B: 0x7a, A: 255}, color.RGBA{R: 0xe0, G: 0xb0, B: 0x50, A: 255}}

// plotted are the tables that the plot shows, from top to bottom.
var plotted = []string{"inbound", "outbound", "whole"}

// plotTables draws a panel for each plotted table that was measured, and reports whether
// there was any.
func plotTables(tables []table, file string) (drawn bool, err error) {
	var panels [][]*plot.Plot
	for _, id := range plotted {
		if t, ok := find(tables, id); ok {
			p, err := panel(t)
			if err != nil {
				return false, err
			}
			panels = append(panels, []*plot.Plot{p})
		}
	}
	if len(panels) == 0 {
		return false, nil
	}
	height := panelHeight * vg.Length(len(panels))
	canvas := vgsvg.New(panelWidth, height)
	arrange(panels, draw.New(canvas))
	return true, save(canvas, file)
}

// arrange draws the panels below each other.
func arrange(panels [][]*plot.Plot, canvas draw.Canvas) {
	tiles := draw.Tiles{Rows: len(panels), Cols: 1, PadY: vg.Centimeter, PadTop: vg.Points(4), PadLeft: vg.Points(24), PadRight: vg.Points(12)}
	for i, row := range plot.Align(panels, tiles, canvas) {
		panels[i][0].Draw(row[0])
	}
}

// save writes the drawing, with fonts that a reader may have and that are as wide as the one
// that it was laid out with.
func save(canvas *vgsvg.Canvas, file string) error {
	var svg bytes.Buffer
	if _, err := canvas.WriteTo(&svg); err != nil {
		return err
	}
	drawn := bytes.ReplaceAll(svg.Bytes(), []byte("font-family:Liberation Sans"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif"))
	return os.WriteFile(file, drawn, 0o644)
}

// panel draws a dot for each contestant and number of callers.
func panel(t table) (*plot.Plot, error) {
	p := plot.New()
	for _, style := range []*text.Style{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		style.Font.Variant = "Sans"
	}
	p.Title.Text = t.Title
	p.Legend.Top = true // the rows above are the fast ones, on the left
	p.X.Label.Text = "microseconds per call, logarithmic"
	p.X.Scale = plot.LogScale{}
	p.X.Tick.Marker = plot.LogTicks{Prec: -1}
	p.Add(plotter.NewGrid())
	names := t.names()
	slices.Reverse(names) // the first one on top
	for i, c := range t.Columns {
		dots, err := plotter.NewScatter(points(c, names))
		if err != nil {
			return nil, err
		}
		dots.GlyphStyle = draw.GlyphStyle{Color: shades[i%len(shades)], Radius: dotRadius, Shape: draw.CircleGlyph{}}
		p.Add(dots)
		p.Legend.Add(c.Label, dots)
	}
	p.NominalY(names...)
	p.Y.Min, p.Y.Max = -0.5, float64(len(names))-0.5
	p.X.Min, p.X.Max = decades(p.X.Min, p.X.Max)
	return p, nil
}

// decades widens a range to powers of ten.
func decades(low, high float64) (float64, float64) {
	return math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high)))
}

// points returns microseconds, and the place of each contestant among the names.
func points(c column, names []string) plotter.XYs {
	var list plotter.XYs
	for i, name := range names {
		if r, ok := c.result(name); ok {
			list = append(list, plotter.XY{X: r.Median() / 1e3, Y: float64(i)})
		}
	}
	return list
}
