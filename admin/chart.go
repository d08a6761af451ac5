package admin

import (
	"strconv"
	"strings"
)

// The chart's own coordinates; the page stretches it to its place.
const (
	chartWidth  = 600
	chartHeight = 120
)

// chart is the last minute as two areas, one upon the other: what was denied,
// and all decisions. It ends at the right.
type chart struct {
	Width, Height int
	All, Denied   string // the points of SVG polygons; "": nothing to draw
	Peak          string // the highest rate
}

func newChart(seconds []perSecond) chart {
	c := chart{Width: chartWidth, Height: chartHeight, Peak: "0"}
	peak := 0.0
	for _, s := range seconds {
		peak = max(peak, s.allowed+s.denied)
	}
	if peak == 0 {
		return c
	}
	c.Peak = rate(peak)
	c.All = area(seconds, peak, func(s perSecond) float64 { return s.allowed + s.denied })
	c.Denied = area(seconds, peak, func(s perSecond) float64 { return s.denied })
	return c
}

// area is the polygon under a line of values, of which peak is the highest.
func area(seconds []perSecond, peak float64, value func(perSecond) float64) string {
	const step = chartWidth / float64(samplesKept-2) // from the first second to the last
	first := chartWidth - step*float64(len(seconds)-1)
	points := []string{point(first, chartHeight)}
	for i, s := range seconds {
		points = append(points, point(first+step*float64(i), chartHeight*(1-value(s)/peak)))
	}
	return strings.Join(append(points, point(chartWidth, chartHeight)), " ")
}

func point(x, y float64) string {
	return strconv.FormatFloat(x, 'f', 1, 64) + "," + strconv.FormatFloat(y, 'f', 1, 64)
}
