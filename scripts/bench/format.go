package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// none stands where nothing was measured.
const none = "-"

// digits3 writes x with three significant digits and commas: 1,760,000, 12.3.
func digits3(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return none
	}
	if x == 0 {
		return "0"
	}
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'e', 2, 64), 64)
	magnitude := int(math.Floor(math.Log10(math.Abs(x))))
	if magnitude >= 2 {
		return commas(int64(x))
	}
	return strconv.FormatFloat(x, 'f', min(2-magnitude, 3), 64)
}

// commas writes n in groups of three digits.
func commas(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	var groups []string
	for ; len(s) > 3; s = s[:len(s)-3] {
		groups = append([]string{s[len(s)-3:]}, groups...)
	}
	return sign + strings.Join(append([]string{s}, groups...), ",")
}

// fixed writes x with some decimals.
func fixed(x float64, decimals int) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return none
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// spread writes the median of ratios, and between which they lay.
func spread(xs []float64) string {
	all := known(xs)
	switch len(all) {
	case 0:
		return none
	case 1:
		return fixed(all[0], 2)
	}
	return fmt.Sprintf("%s (%s to %s)", fixed(median(all), 2), fixed(all[0], 2), fixed(all[len(all)-1], 2))
}

// table writes a table of Markdown; all columns but the first are numbers. It
// is "" without lines, so that a page leaves the section out.
func table(header []string, lines [][]string) string {
	if len(lines) == 0 {
		return ""
	}
	var b strings.Builder
	line := func(cols []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cols, " | ")) }
	line(header)
	rule := make([]string, len(header))
	for i := range rule {
		rule[i] = "---:"
	}
	rule[0] = "---"
	line(rule)
	for _, cols := range lines {
		line(cols)
	}
	return b.String()
}
