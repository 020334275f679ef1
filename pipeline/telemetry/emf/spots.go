package emf

import (
	"cmp"
	"slices"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// spots are the values of a histogram: each bucket is a value within it, as often as there
// were measurements in it. Percentiles are as exact as the buckets are narrow; Sum, Count,
// Min and Max are exact.
type spots struct {
	at       []spot
	sum      float64
	count    uint64
	min, max float64
}

type spot struct {
	value float64
	count uint64
}

func addPoint[N int64 | float64](s *spots, p metricdata.HistogramDataPoint[N]) {
	low, hasLow := p.Min.Value()
	high, hasHigh := p.Max.Value()
	least, most := float64(low), float64(high)
	if !hasLow || !hasHigh { // the bounds are all that is known
		least, most = 0, 0
		if n := len(p.Bounds); n > 0 {
			least, most = min(0, p.Bounds[0]), p.Bounds[n-1]
		}
	}
	if s.count == 0 {
		s.min, s.max = least, most
	}
	s.min, s.max = min(s.min, least), max(s.max, most)
	s.sum += float64(p.Sum)
	s.count += p.Count
	if len(p.BucketCounts) == 0 {
		s.put(float64(p.Sum)/float64(p.Count), p.Count)
		return
	}
	for i, n := range p.BucketCounts {
		if n == 0 {
			continue
		}
		from, to := least, most
		if i > 0 {
			from = max(from, p.Bounds[i-1])
		}
		if i < len(p.Bounds) {
			to = min(to, p.Bounds[i])
		}
		s.put(from+(to-from)/2, n)
	}
}

func (s *spots) put(value float64, n uint64) {
	if !finite(value) {
		return
	}
	for i := range s.at {
		if s.at[i].value == value {
			s.at[i].count += n
			return
		}
	}
	s.at = append(s.at, spot{value, n})
}

// histogram is a metric's value as CloudWatch takes it in place of a number.
type histogram struct {
	Values []float64 `json:"Values"`
	Counts []uint64  `json:"Counts"`
	Max    float64   `json:"Max"`
	Min    float64   `json:"Min"`
	Count  uint64    `json:"Count"`
	Sum    float64   `json:"Sum"`
}

// histogram has at most maxValues values: neighbours become one where there are more.
func (s *spots) histogram() histogram {
	slices.SortFunc(s.at, func(a, b spot) int { return cmp.Compare(a.value, b.value) })
	h := histogram{Max: s.max, Min: s.min, Count: s.count, Sum: s.sum}
	together := (len(s.at) + maxValues - 1) / maxValues
	for part := range slices.Chunk(s.at, max(1, together)) {
		var weight float64
		var n uint64
		for _, x := range part {
			weight += x.value * float64(x.count)
			n += x.count
		}
		h.Values, h.Counts = append(h.Values, weight/float64(n)), append(h.Counts, n)
	}
	return h
}
