package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// result is what both sides of a comparison did, round by round.
type result struct {
	name       string
	n          int // records of a round
	ours, bare []time.Duration
	least      float64 // of the ratio, which the project holds itself to; 0: none
	note       string
}

// rates are records a second: the least, the median and the greatest.
func (r result) rates(of []time.Duration) (low, median, high float64) {
	rates := make([]float64, len(of))
	for i, d := range of {
		rates[i] = float64(r.n) / d.Seconds()
	}
	slices.Sort(rates)
	return rates[0], rates[len(rates)/2], rates[len(rates)-1]
}

// ratio is the median of ours over that of the bare loop.
func (r result) ratio() float64 {
	_, ours, _ := r.rates(r.ours)
	_, bare, _ := r.rates(r.bare)
	return ours / bare
}

// table prints results as they come.
type table struct {
	w     *tabwriter.Writer
	notes []string
}

func newTable(w io.Writer) *table {
	t := &table{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)}
	fmt.Fprintln(t.w, "\tours min\tmedian\tmax\tbare min\tmedian\tmax\tratio\tbudget\t")
	return t
}

func (t *table) row(r result) {
	low, mid, high := r.rates(r.ours)
	bareLow, bareMid, bareHigh := r.rates(r.bare)
	budget := "-"
	if r.least > 0 {
		budget = fmt.Sprintf("%.2f", r.least)
	}
	fmt.Fprintf(t.w, "%s\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.2f\t%s\t\n", r.name, low, mid, high, bareLow, bareMid, bareHigh, r.ratio(), budget)
	_ = t.w.Flush()
	if r.note != "" {
		t.notes = append(t.notes, r.name+": "+r.note)
	}
}

func (t *table) end() error {
	if err := t.w.Flush(); err != nil {
		return err
	}
	fmt.Println()
	for _, n := range t.notes {
		fmt.Println(n)
	}
	return nil
}
