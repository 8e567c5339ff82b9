package main

import (
	"cmp"
	"slices"
	"strings"
)

// part is of what a row needs more than others, and where.
type part struct {
	Quantity string
	Of       int // columns in which it was compared
	Excesses []excess
	Folded   bool // it is of several others
}

// excess is how many times as much a row needs in one column.
type excess struct {
	Label string
	Text  string
	Ratio float64
	Noise bool // the run doesn't tell the two apart
}

// noise reports whether all of it may be noise.
func (p part) noise() bool {
	return !slices.ContainsFunc(p.Excesses, func(e excess) bool { return !e.Noise })
}

// String names each column, or none where it is of all.
func (p part) String() string {
	text := p.Quantity + " "
	if p.Folded && len(p.Excesses) < p.Of {
		return text + "up to " + p.most().Text
	}
	if all := p.inAll(); all != "" {
		return text + all
	}
	var list []string
	for _, e := range p.Excesses {
		where := e.Label
		if e.Noise {
			where += withinNoise
		}
		list = append(list, e.Text+" ("+where+")")
	}
	return text + strings.Join(list, ", ")
}

const withinNoise = ", within noise"

// inAll draws the figures of all columns together; it is empty where some are missing, or
// where only some may be noise.
func (p part) inAll() string {
	mixed := slices.ContainsFunc(p.Excesses, func(e excess) bool { return e.Noise != p.Excesses[0].Noise })
	if len(p.Excesses) < p.Of || mixed {
		return ""
	}
	text := p.least().Text
	if most := p.most().Text; most != text {
		text += " to " + most
	}
	if p.noise() {
		text += " (within noise)"
	}
	return text
}

func (p part) least() excess { return slices.MinFunc(p.Excesses, excess.compare) }

func (p part) most() excess { return slices.MaxFunc(p.Excesses, excess.compare) }

func (e excess) compare(other excess) int { return cmp.Compare(e.Ratio, other.Ratio) }

// fold draws lines of one row together that have the same reasons.
func fold(list []lags) []lags {
	var folded []lags
	for _, of := range list {
		lines := lags{Title: of.Title}
		for _, l := range of.Lines {
			i := slices.IndexFunc(lines.Lines, func(other lag) bool {
				return other.Row == l.Row && slices.Equal(other.Reasons, l.Reasons)
			})
			if i < 0 {
				lines.Lines = append(lines.Lines, l)
			} else {
				lines.Lines[i] = lines.Lines[i].with(l)
			}
		}
		folded = append(folded, lines)
	}
	return folded
}

// with adds another's parts to one's own.
func (l lag) with(other lag) lag {
	columns := l.Parts[0].Of / len(l.Others)
	l.Others = append(slices.Clone(l.Others), other.Others...)
	l.Parts = slices.Clone(l.Parts)
	for _, p := range other.Parts {
		i := slices.IndexFunc(l.Parts, func(mine part) bool { return mine.Quantity == p.Quantity })
		if i < 0 {
			l.Parts = append(l.Parts, p)
		} else {
			l.Parts[i].Excesses = slices.Concat(l.Parts[i].Excesses, p.Excesses)
		}
	}
	for i := range l.Parts {
		l.Parts[i].Of, l.Parts[i].Folded = columns*len(l.Others), true
	}
	return l
}

// What is what it needs more of.
func (l lag) What() string {
	var list []string
	for _, p := range l.Parts {
		list = append(list, p.String())
	}
	return strings.Join(list, "; ")
}
