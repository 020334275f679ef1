package emf

import (
	"cmp"
	"slices"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// buckets has the values of a histogram in CloudWatch's form. Each bucket becomes one value, its middle, with the
// number of measurements in the bucket. So percentiles are as exact as the buckets are narrow. Sum and Count are exact,
// and so are Min and Max if the SDK records them.
type buckets struct {
	values   []bucket
	sum      float64
	count    uint64
	min, max float64
}

type bucket struct {
	value float64
	count uint64
}

// rangeOf returns the least and the greatest value of a data point, as far as they are known.
func rangeOf[N int64 | float64](p metricdata.HistogramDataPoint[N]) (least, most float64) {
	low, hasLow := p.Min.Value()
	high, hasHigh := p.Max.Value()
	if hasLow && hasHigh {
		return float64(low), float64(high)
	}
	if n := len(p.Bounds); n > 0 {
		return min(0, p.Bounds[0]), p.Bounds[n-1]
	}
	return 0, 0
}

// addPoint adds the measurements of a data point to b.
func addPoint[N int64 | float64](b *buckets, p metricdata.HistogramDataPoint[N]) {
	least, most := rangeOf(p)
	if b.count == 0 {
		b.min, b.max = least, most
	}
	b.min, b.max = min(b.min, least), max(b.max, most)
	b.sum += float64(p.Sum)
	b.count += p.Count
	if len(p.BucketCounts) == 0 {
		b.put(float64(p.Sum)/float64(p.Count), p.Count)
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
		b.put(from+(to-from)/2, n)
	}
}

func (b *buckets) put(value float64, n uint64) {
	if !finite(value) {
		return
	}
	for i := range b.values {
		if b.values[i].value == value {
			b.values[i].count += n
			return
		}
	}
	b.values = append(b.values, bucket{value, n})
}

// histogram is CloudWatch's form of a metric with several values.
type histogram struct {
	Values []float64 `json:"Values"`
	Counts []uint64  `json:"Counts"`
	Max    float64   `json:"Max"`
	Min    float64   `json:"Min"`
	Count  uint64    `json:"Count"`
	Sum    float64   `json:"Sum"`
}

// histogram returns at most maxValues values. If there are more, it merges neighbouring values into their weighted
// mean.
func (b *buckets) histogram() histogram {
	slices.SortFunc(b.values, func(a, b bucket) int { return cmp.Compare(a.value, b.value) })
	h := histogram{Max: b.max, Min: b.min, Count: b.count, Sum: b.sum}
	mergedCount := (len(b.values) + maxValues - 1) / maxValues // number of values that become one
	for neighbours := range slices.Chunk(b.values, max(1, mergedCount)) {
		var sum float64
		var count uint64
		for _, x := range neighbours {
			sum += x.value * float64(x.count)
			count += x.count
		}
		h.Values, h.Counts = append(h.Values, sum/float64(count)), append(h.Counts, count)
	}
	return h
}
