package main

import (
	"math"
	"testing"
)

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		rounds []float64
		want   spread
	}{
		{[]float64{3}, spread{3, 3, 3}},
		{[]float64{9, 1, 5}, spread{1, 5, 9}},
		{[]float64{8, 1, 2, 4}, spread{1, 3, 8}},
		{[]float64{7, 7, 1, 100, 2, 2, 3}, spread{1, 3, 100}},
	} {
		given := append([]float64(nil), c.rounds...)
		if got := spreadOf(c.rounds); got != c.want {
			t.Errorf("spread of %v is %v, want %v", given, got, c.want)
		}
		for i := range given {
			if given[i] != c.rounds[i] {
				t.Errorf("the rounds were reordered: %v, and before %v", c.rounds, given)
			}
		}
	}
}

func TestBudgets(t *testing.T) {
	for _, c := range []struct {
		name  string
		r     result
		share float64
		ok    bool
	}{
		{"at least, met", result{Least: 40, Ratio: 40}, 1, true},
		{"at least, missed", result{Least: 40, Ratio: 39.9}, 1, false},
		{"at least, half of it", result{Least: 40, Ratio: 20}, 0.5, true},
		{"at least, less than half", result{Least: 40, Ratio: 19.9}, 0.5, false},
		{"at most, met", result{Most: 1.25, Ratio: 1.25}, 1, true},
		{"at most, missed", result{Most: 1.25, Ratio: 1.26}, 1, false},
		{"at most, twice", result{Most: 0.1, Ratio: 0.2}, 0.5, true},
		{"at most, more than twice", result{Most: 0.1, Ratio: 0.21}, 0.5, false},
		{"no budget", result{Ratio: 0.01}, 1, true},
		{"no figure", result{Least: 40, Ratio: math.NaN()}, 0.5, false},
		{"allocations, met", result{MostAllocs: new(6.0), OursAllocs: new(6.0)}, 1, true},
		{"allocations have no share", result{MostAllocs: new(6.0), OursAllocs: new(6.1)}, 0.5, false},
		{"no allocation, missed", result{MostAllocs: new(0.0), OursAllocs: new(0.001)}, 0.5, false},
		{"allocations, not counted", result{MostAllocs: new(6.0)}, 0.5, false},
	} {
		if err := c.r.hold(c.share); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestFigures(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 0.1: "0.1", 1.234: "1.23", 99.94: "99.9", 123.4: "123", 999.6: "1,000", 1234: "1,234", 123456: "123,456", 1234567: "1,234,567",
	} {
		if got := figure(x); got != want {
			t.Errorf("figure(%v) = %q, want %q", x, got, want)
		}
	}
}
