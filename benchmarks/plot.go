package main

// A plot, as SVG: the time for each one over how many there are, both axes logarithmic.

import (
	"bytes"
	"fmt"
	"html"
	"math"
)

// plot is how a row's numbers are drawn.
type plot struct {
	name   string // of the file
	x      string // the axis
	metric string
	points []point // in the order of x, series after series
}

// point is what a subject has, at a place on the axis.
type point struct {
	series  string
	x       float64
	subject string
}

const (
	plotWidth, plotHeight = 640.0, 400.0
	plotMargin            = 70.0
)

// axis is a logarithmic one, from one power of ten to another.
type axis struct{ from, to float64 }

func axisFor(values []float64) axis {
	return axis{math.Floor(math.Log10(minimum(values)) + 1e-9), math.Ceil(math.Log10(maximum(values)) - 1e-9)}
}

// at is a place between 0 and 1.
func (a axis) at(v float64) float64 { return (math.Log10(v) - a.from) / math.Max(a.to-a.from, 1) }

// ticks are the powers of ten.
func (a axis) ticks() (values []float64) {
	for e := a.from; e <= math.Max(a.to, a.from+1); e++ {
		values = append(values, math.Pow(10, e))
	}
	return values
}

// svg draws a row's plot. It is empty where nothing was measured.
func (r result) svg() []byte {
	var m metric
	for _, one := range r.row.metrics {
		if one.name == r.row.plot.metric {
			m = one
		}
	}
	var points []point
	var xs, ys []float64
	for _, p := range r.row.plot.points {
		if y := r.number(m, p.subject); y > 0 {
			points, xs, ys = append(points, p), append(xs, p.x), append(ys, y)
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif" font-size="13">`+"\n",
		plotWidth, plotHeight)
	fmt.Fprintln(&b, `<rect width="100%" height="100%" fill="white"/>`)
	text := func(x, y float64, anchor, s string) {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", x, y, anchor, html.EscapeString(s))
	}
	text(plotWidth/2, 24, "middle", r.row.name+": "+m.name)
	text(plotWidth/2, plotHeight-16, "middle", r.row.plot.x)
	if len(points) > 0 {
		across, up := axisFor(xs), axisFor(ys)
		x := func(v float64) float64 { return plotMargin + across.at(v)*(plotWidth-2*plotMargin) }
		y := func(v float64) float64 { return plotHeight - plotMargin - up.at(v)*(plotHeight-2*plotMargin) }
		for _, v := range across.ticks() {
			fmt.Fprintf(&b, `<path d="M%.1f %.1fV%.1f" stroke="#ddd"/>`+"\n", x(v), plotMargin, plotHeight-plotMargin)
			text(x(v), plotHeight-plotMargin+20, "middle", fmt.Sprintf("%g", v))
		}
		for _, v := range up.ticks() {
			fmt.Fprintf(&b, `<path d="M%.1f %.1fH%.1f" stroke="#ddd"/>`+"\n", plotMargin, y(v), plotWidth-plotMargin)
			text(plotMargin-6, y(v)+4, "end", m.unit(v))
		}
		colours := map[string]string{"acpterm": "#0060c0"}
		for i, p := range points {
			colour, ok := colours[p.series]
			if !ok {
				colour = "#c06000"
			}
			px, py := x(p.x), y(ys[i])
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="4" fill="%s"/>`+"\n", px, py, colour)
			if i > 0 && points[i-1].series == p.series {
				fmt.Fprintf(&b, `<path d="M%.1f %.1fL%.1f %.1f" stroke="%s" stroke-width="2"/>`+"\n",
					x(points[i-1].x), y(ys[i-1]), px, py, colour)
			}
			if i == len(points)-1 || points[i+1].series != p.series {
				text(px+8, py+4, "start", p.series)
			}
		}
	}
	fmt.Fprintln(&b, `</svg>`)
	return b.Bytes()
}
