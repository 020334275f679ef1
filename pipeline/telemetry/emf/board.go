package emf

import (
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// board gathers the points of one export by the place that they are published at.
type board struct {
	pipeline string
	order    []place
	at       map[place]*sheet
}

// sheet is what is published at a place.
type sheet struct {
	time  time.Time
	order []string // names
	cells map[string]*cell
}

// cell is one metric at one place.
type cell struct {
	unit  string
	set   bool
	value float64
	spots *spots // of a histogram
}

func newBoard(pipeline string) *board {
	return &board{pipeline: pipeline, at: make(map[place]*sheet)}
}

func (b *board) add(m metricdata.Metrics) {
	switch d := m.Data.(type) {
	case metricdata.Sum[int64]:
		numbers(b, m, d.DataPoints, sum)
	case metricdata.Sum[float64]:
		numbers(b, m, d.DataPoints, sum)
	case metricdata.Gauge[int64]:
		numbers(b, m, d.DataPoints, ofUnit(m.Unit))
	case metricdata.Gauge[float64]:
		numbers(b, m, d.DataPoints, ofUnit(m.Unit))
	case metricdata.Histogram[int64]:
		buckets(b, m, d.DataPoints)
	case metricdata.Histogram[float64]:
		buckets(b, m, d.DataPoints)
	}
}

// merge puts together two points that differ in attributes that are left out.
type merge func(a, b float64) float64

func sum(a, b float64) float64 { return a + b }

// ofUnit is how gauges of a unit are put together: of ages the greatest, of times left the
// least, and quantities add up.
func ofUnit(unit string) merge {
	switch unit {
	case "s":
		return math.Max
	case "h":
		return math.Min
	}
	return sum
}

// finite tells whether JSON has the number.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func numbers[N int64 | float64](b *board, m metricdata.Metrics, points []metricdata.DataPoint[N], put merge) {
	for _, p := range points {
		v := float64(p.Value)
		if !finite(v) {
			continue
		}
		for _, c := range b.cells(m, p.Attributes, p.Time) {
			if c.set {
				c.value = put(c.value, v)
			} else {
				c.value, c.set = v, true
			}
		}
	}
}

func buckets[N int64 | float64](b *board, m metricdata.Metrics, points []metricdata.HistogramDataPoint[N]) {
	for _, p := range points {
		if p.Count == 0 || !finite(float64(p.Sum)) {
			continue
		}
		for _, c := range b.cells(m, p.Attributes, p.Time) {
			if c.spots == nil {
				c.spots = &spots{}
			}
			c.set = true
			addPoint(c.spots, p)
		}
	}
}

// cells are those of a metric at the places of its attributes.
func (b *board) cells(m metricdata.Metrics, attrs attribute.Set, at time.Time) []*cell {
	places := b.places(attrs)
	cells := make([]*cell, len(places))
	for i, place := range places {
		s := b.at[place]
		if s == nil {
			s = &sheet{cells: make(map[string]*cell)}
			b.at[place] = s
			b.order = append(b.order, place)
		}
		s.time = later(s.time, at)
		c := s.cells[m.Name]
		if c == nil {
			c = &cell{unit: m.Unit}
			s.cells[m.Name] = c
			s.order = append(s.order, m.Name)
		}
		cells[i] = c
	}
	return cells
}
