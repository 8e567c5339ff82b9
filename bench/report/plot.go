package main

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
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
	legendSpace = 0.9 * vg.Centimeter // above the panels
	dotRadius   = vg.Length(5.5)
	dotStep     = vg.Length(1.6) // that the next number of callers is smaller, so that no dot hides another
	bold        = 3              // the weight of a font
)

// shades tell the numbers of callers apart.
var shades = []color.Color{color.RGBA{R: 0x1b, G: 0x5e, B: 0x7f, A: 255}, color.RGBA{R: 0x5f, G: 0xa8, B: 0x7a, A: 255}, color.RGBA{R: 0xe0, G: 0xb0, B: 0x50, A: 255}}

// plotted are the tables that the plot shows, from top to bottom.
var plotted = []string{"inbound", "outbound", "whole"}

// plotTables draws a panel for each plotted table that was measured, and reports whether
// there was any.
func plotTables(tables []table, file string) (drawn bool, err error) {
	var panels [][]*plot.Plot
	var labels []string
	for _, id := range plotted {
		if t, ok := find(tables, id); ok {
			p, err := panel(t)
			if err != nil {
				return false, err
			}
			panels = append(panels, []*plot.Plot{p})
			if len(t.Columns) > len(labels) {
				labels = columnLabels(t)
			}
		}
	}
	if len(panels) == 0 {
		return false, nil
	}
	canvas := vgsvg.New(panelWidth, legendSpace+panelHeight*vg.Length(len(panels)))
	whole := draw.New(canvas)
	explain(labels, whole, panels[0][0].X.Tick.Label)
	arrange(panels, draw.Crop(whole, 0, 0, 0, -legendSpace))
	return true, save(canvas, panels[0][0].Y.Tick.Label, tables, file)
}

// explain draws a legend of all panels in one line above them.
func explain(labels []string, canvas draw.Canvas, style text.Style) {
	style.XAlign, style.YAlign = text.XLeft, text.YCenter
	at := vg.Point{X: canvas.Min.X + vg.Centimeter, Y: canvas.Max.Y - legendSpace/2}
	for i, label := range labels {
		canvas.DrawGlyph(dot(i), at)
		at.X += vg.Points(10)
		canvas.FillText(style, at, label)
		at.X += style.Width(label) + vg.Centimeter
	}
}

// dot is that of a number of callers, the first one the largest.
func dot(i int) draw.GlyphStyle {
	i %= len(shades)
	return draw.GlyphStyle{Color: shades[i], Radius: dotRadius - vg.Length(i)*dotStep, Shape: draw.CircleGlyph{}}
}

// emphasis writes the names of Cupule's rows in bold.
type emphasis struct{ text.Handler }

// Box is as wide as what Draw draws.
func (e emphasis) Box(name string, of font.Font) (width, height, depth vg.Length) {
	return e.Handler.Box(name, emphasized(name, of))
}

// Draw draws a name.
func (e emphasis) Draw(c vg.Canvas, name string, style text.Style, at vg.Point) {
	style.Font = emphasized(name, style.Font)
	e.Handler.Draw(c, name, style, at)
}

func emphasized(name string, of font.Font) font.Font {
	if ours(name) {
		of.Weight = bold
	}
	return of
}

// arrange draws the panels below each other.
func arrange(panels [][]*plot.Plot, canvas draw.Canvas) {
	tiles := draw.Tiles{Rows: len(panels), Cols: 1, PadY: vg.Centimeter, PadTop: vg.Points(4), PadLeft: vg.Points(42), PadRight: vg.Points(12)}
	for i, row := range plot.Align(panels, tiles, canvas) {
		panels[i][0].Draw(row[0])
	}
}

// save writes the drawing, with fonts that a reader may have and that are as wide as the one
// that it was laid out with. Where there are none, names still end at the axis.
func save(canvas *vgsvg.Canvas, label text.Style, tables []table, file string) error {
	var svg bytes.Buffer
	if _, err := canvas.WriteTo(&svg); err != nil {
		return err
	}
	drawn := bytes.ReplaceAll(svg.Bytes(), []byte("font-family:Liberation Sans"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif"))
	return os.WriteFile(file, anchored(drawn, label, tables), 0o644)
}

// written is a text of a drawing, by where it begins.
var written = regexp.MustCompile(`<text x="([^"]*)"([^>]*)>([^<]*)</text>`)

// anchored has names of rows written by where they end, however wide the font of a reader is.
func anchored(svg []byte, label text.Style, tables []table) []byte {
	return written.ReplaceAllFunc(svg, func(element []byte) []byte {
		parts := written.FindSubmatch(element)
		name := string(parts[3])
		at, err := strconv.ParseFloat(string(parts[1]), 64)
		if err != nil || !slices.ContainsFunc(tables, func(t table) bool { return slices.Contains(t.names(), name) }) {
			return element
		}
		end := at + label.Width(name).Points()
		return fmt.Appendf(nil, `<text text-anchor="end" x="%.5g"%s>%s</text>`, end, parts[2], name)
	})
}

// panel draws a dot for each contestant and number of callers.
func panel(t table) (*plot.Plot, error) {
	p := plot.New()
	for _, style := range []*text.Style{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label} {
		style.Font.Variant = "Sans"
	}
	p.Y.Tick.Label.Handler = emphasis{p.Y.Tick.Label.Handler}
	p.Title.Text = t.Title
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
		dots.GlyphStyle = dot(i)
		p.Add(dots)
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
