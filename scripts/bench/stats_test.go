package main

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestMedian(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		xs   []float64
		want float64
	}{
		{[]float64{3}, 3},
		{[]float64{9, 1, 5}, 5},
		{[]float64{4, 1, 3, 2}, 2.5},
		{[]float64{nan, 7, nan, 1, 3}, 3},
		{[]float64{nan}, nan},
		{nil, nan},
	} {
		before := slices.Clone(tt.xs)
		got := median(tt.xs)
		if got != tt.want && !(math.IsNaN(got) && math.IsNaN(tt.want)) {
			t.Errorf("%v: got %v, want %v", tt.xs, got, tt.want)
		}
		if diff := cmp.Diff(before, tt.xs, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("the argument changed: %s", diff)
		}
	}
}

// The machine is twice as slow in the second round: the medians of the rows
// would say 0.75, each pair says 0.5.
func TestRatiosArePairs(t *testing.T) {
	got := ratios([]float64{50, 25, 50}, []float64{100, 50, 100})
	if !slices.Equal(got, []float64{0.5, 0.5, 0.5}) {
		t.Errorf("got %v", got)
	}
}

func TestRatiosOfWhatIsNotKnown(t *testing.T) {
	got := ratios([]float64{1, math.NaN(), 3, 4}, []float64{0, 1, math.NaN()})
	if len(got) != 3 || len(known(got)) != 0 {
		t.Errorf("got %v, want three times NaN", got)
	}
	if got := ratios([]float64{1}, nil); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

func TestDigits3(t *testing.T) {
	for _, tt := range []struct {
		x    float64
		want string
	}{
		{0, "0"},
		{0.0123, "0.012"},
		{0.55, "0.550"},
		{1.256, "1.26"},
		{15.23, "15.2"},
		{99.96, "100"},
		{123.4, "123"},
		{1234, "1,230"},
		{999_999, "1,000,000"},
		{1_756_321, "1,760,000"},
		{-2.5, "-2.50"},
		{math.NaN(), none},
		{math.Inf(1), none},
	} {
		if got := digits3(tt.x); got != tt.want {
			t.Errorf("%v: got %s, want %s", tt.x, got, tt.want)
		}
	}
}

func TestSpread(t *testing.T) {
	for _, tt := range []struct {
		xs   []float64
		want string
	}{
		{nil, none},
		{[]float64{math.NaN()}, none},
		{[]float64{1.126}, "1.13"},
		{[]float64{1.2, 0.9, 1}, "1.00 (0.90 to 1.20)"},
	} {
		if got := spread(tt.xs); got != tt.want {
			t.Errorf("%v: got %s, want %s", tt.xs, got, tt.want)
		}
	}
}
