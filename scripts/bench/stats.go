package main

import (
	"math"
	"slices"
)

// known is xs without what could not be measured (NaN), in ascending order.
func known(xs []float64) []float64 {
	xs = slices.DeleteFunc(slices.Clone(xs), math.IsNaN)
	slices.Sort(xs)
	return xs
}

// median is NaN when nothing was measured.
func median(xs []float64) float64 {
	xs = known(xs)
	n := len(xs)
	switch {
	case n == 0:
		return math.NaN()
	case n%2 == 1:
		return xs[n/2]
	}
	return (xs[n/2-1] + xs[n/2]) / 2
}

// ratios divides round by round: what slows the machine for a minute slows
// both, so that a pair says more than the medians of either.
func ratios(xs, by []float64) []float64 {
	out := make([]float64, min(len(xs), len(by)))
	for i := range out {
		out[i] = math.NaN()
		if by[i] > 0 {
			out[i] = xs[i] / by[i]
		}
	}
	return out
}
