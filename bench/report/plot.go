package main

import (
	"image/color"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Measures of the plot.
const (
	panelWidth  = 20 * vg.Centimeter
	panelHeight = 11 * vg.Centimeter
	barWidth    = 8
)

// shades tell the numbers of callers apart.
var shades = []color.Color{color.RGBA{R: 0x1b, G: 0x5e, B: 0x7f, A: 255}, color.RGBA{R: 0x5f, G: 0xa8, B: 0x7a, A: 255}, color.RGBA{R: 0xe0, G: 0xb0, B: 0x50, A: 255}}

// plotted are the tables that the plot shows, from top to bottom.
var plotted = []string{"inbound", "outbound", "whole"}

// plotTables draws a panel for each plotted table that was measured.
func plotTables(tables []table, file string) error {
	var panels [][]*plot.Plot
	for _, id := range plotted {
		if t, ok := find(tables, id); ok {
			p, err := panel(t)
			if err != nil {
				return err
			}
			panels = append(panels, []*plot.Plot{p})
		}
	}
	if len(panels) == 0 {
		return nil
	}
	height := panelHeight * vg.Length(len(panels))
	canvas := vgsvg.New(panelWidth, height)
	tiles := draw.Tiles{Rows: len(panels), Cols: 1, PadY: vg.Centimeter, PadTop: vg.Points(4), PadRight: vg.Points(12)}
	for i, row := range plot.Align(panels, tiles, draw.New(canvas)) {
		panels[i][0].Draw(row[0])
	}
	return save(canvas, file)
}

func save(canvas *vgsvg.Canvas, file string) error {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	if _, err := canvas.WriteTo(out); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}

// panel draws bars for each contestant, one for each number of callers.
func panel(t table) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = t.Title
	p.X.Label.Text = "microseconds per call, logarithmic"
	p.X.Scale = plot.LogScale{}
	p.X.Tick.Marker = plot.LogTicks{Prec: -1}
	p.Legend.Top = true
	names := t.names()
	for i, c := range t.Columns {
		bars, err := plotter.NewBarChart(values(c, names), barWidth)
		if err != nil {
			return nil, err
		}
		bars.Horizontal = true
		bars.LineStyle.Width = 0
		bars.Color = shades[i%len(shades)]
		bars.Offset = vg.Points(barWidth * float64(len(t.Columns)/2-i))
		p.Add(bars)
		p.Legend.Add(c.Label, bars)
	}
	p.NominalY(names...)
	p.X.Min = 1
	return p, nil
}

// values returns microseconds, in the order of the names.
func values(c column, names []string) plotter.Values {
	list := make(plotter.Values, len(names))
	for i, name := range names {
		if r, ok := c.result(name); ok {
			list[i] = r.Median() / 1e3
		}
	}
	return list
}
