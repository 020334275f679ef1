package emf

import (
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// export collects the points of one export by their dimensions.
type export struct {
	pipeline  string
	order     []dimensions
	documents map[dimensions]*document
}

// document has the metrics of one dimension set. It becomes one line for every 100 metrics.
type document struct {
	time   time.Time
	order  []string // names
	values map[string]*metricValue
}

// metricValue is one metric of a document.
type metricValue struct {
	unit    string
	set     bool // the document has a point of the metric
	value   float64
	buckets *buckets // nil if the metric is not a histogram
}

func (e *export) add(m metricdata.Metrics) {
	switch d := m.Data.(type) {
	case metricdata.Sum[int64]:
		addNumbers(e, m, d.DataPoints, sum)
	case metricdata.Sum[float64]:
		addNumbers(e, m, d.DataPoints, sum)
	case metricdata.Gauge[int64]:
		addNumbers(e, m, d.DataPoints, mergeByUnit(m.Unit))
	case metricdata.Gauge[float64]:
		addNumbers(e, m, d.DataPoints, mergeByUnit(m.Unit))
	case metricdata.Histogram[int64]:
		addHistograms(e, m, d.DataPoints)
	case metricdata.Histogram[float64]:
		addHistograms(e, m, d.DataPoints)
	}
}

// merge merges the values of two points of one metric and dimension set.
type merge func(a, b float64) float64

func sum(a, b float64) float64 { return a + b }

// mergeByUnit returns the merge of gauges with this unit. It keeps the greatest age (s), keeps the least time left (h),
// and adds quantities.
func mergeByUnit(unit string) merge {
	switch unit {
	case "s":
		return math.Max
	case "h":
		return math.Min
	}
	return sum
}

// finite reports whether JSON can express the number.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func addNumbers[N int64 | float64](e *export, m metricdata.Metrics, points []metricdata.DataPoint[N], mergeFunc merge) {
	for _, p := range points {
		number := float64(p.Value)
		if !finite(number) {
			continue
		}
		for _, v := range e.metricValues(m, p.Attributes, p.Time) {
			if v.set {
				v.value = mergeFunc(v.value, number)
			} else {
				v.value, v.set = number, true
			}
		}
	}
}

func addHistograms[N int64 | float64](e *export, m metricdata.Metrics, points []metricdata.HistogramDataPoint[N]) {
	for _, p := range points {
		if p.Count == 0 || !finite(float64(p.Sum)) {
			continue
		}
		for _, v := range e.metricValues(m, p.Attributes, p.Time) {
			if v.buckets == nil {
				v.buckets = &buckets{}
			}
			v.set = true
			addPoint(v.buckets, p)
		}
	}
}

// metricValues returns the values of a metric in the documents of its dimension sets.
func (e *export) metricValues(m metricdata.Metrics, attrs attribute.Set, at time.Time) []*metricValue {
	sets := e.dimensionSets(attrs)
	values := make([]*metricValue, len(sets))
	for i, dims := range sets {
		doc := e.documents[dims]
		if doc == nil {
			doc = &document{values: make(map[string]*metricValue)}
			e.documents[dims] = doc
			e.order = append(e.order, dims)
		}
		if at.After(doc.time) {
			doc.time = at
		}
		v := doc.values[m.Name]
		if v == nil {
			v = &metricValue{unit: m.Unit}
			doc.values[m.Name] = v
			doc.order = append(doc.order, m.Name)
		}
		values[i] = v
	}
	return values
}
