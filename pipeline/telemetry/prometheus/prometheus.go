// Package prometheus serves metrics in Prometheus' text format, version 0.0.4. Prometheus reads them at each scrape.
//
// Prometheus' OTLP receiver makes the same names and labels from the same metrics, so dashboards and alerts fit both
// ways of collecting. In a name, dots become underscores, the unit follows, and then _total on counters. The resource
// becomes the series target_info. The tests in test/promql read the output with Prometheus' parser.
//
// This package does not use OpenTelemetry's own exporter. That exporter links Prometheus' client with its registry and
// its collectors of the process: eight modules for one page of text.
//
// The format: https://prometheus.io/docs/instrumenting/exposition_formats/. The names:
// https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/.
package prometheus

import (
	"bytes"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// ContentType is the content type of the answer to a scrape.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Exporter collects metrics at each scrape. It is both a reader for a meter provider and the HTTP handler of the
// scrapes. It is safe for concurrent use.
type Exporter struct{ *sdkmetric.ManualReader }

var (
	_ sdkmetric.Reader = (*Exporter)(nil)
	_ http.Handler     = (*Exporter)(nil)
)

// New returns an Exporter. Pass it to one meter provider.
func New() *Exporter { return &Exporter{sdkmetric.NewManualReader()} }

// ServeHTTP writes all metrics. It answers with status 500 if it cannot collect any metric. This happens before a meter
// provider has the Exporter, and after the meter provider is shut down. If a callback fails, only the metrics of this
// callback are missing.
func (e *Exporter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var rm metricdata.ResourceMetrics
	if err := e.Collect(r.Context(), &rm); err != nil && len(rm.ScopeMetrics) == 0 {
		http.Error(w, "there are no metrics: OTEL_SDK_DISABLED is true, or the pipeline has stopped",
			http.StatusInternalServerError)
		return
	}
	var page bytes.Buffer
	Write(&page, &rm)
	w.Header().Set("Content-Type", ContentType)
	_, _ = w.Write(page.Bytes()) // Write fails only if the client is gone
}

// family has all series with the same name.
type family struct {
	name, help string
	kind       kind
	series     []series
}

// series has the lines with the same labels: one value, or the buckets, sum and count of a histogram.
type series struct {
	labels string // name="value",name="value"
	lines  func(b *bytes.Buffer, name, labels string)
}

// Write writes metrics to b, sorted by name and labels, so that equal metrics make equal pages. Counters and histograms
// must be cumulative. Two metrics of the same name are one family, even if they belong to different scopes. If their
// types differ, the later one is left out. Exponential histograms and summaries are left out, because no instrument of
// tablewake makes them.
func Write(b *bytes.Buffer, rm *metricdata.ResourceMetrics) {
	families := map[string]*family{}
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			addMetric(families, m)
		}
	}
	if rm.Resource != nil && rm.Resource.Len() > 0 {
		families["target_info"] = &family{name: "target_info", help: "the resource of the metrics", kind: gauge,
			series: []series{{labelText(rm.Resource.Iter()), valueLines("", int64(1))}}}
	}
	for _, name := range slices.Sorted(maps.Keys(families)) {
		families[name].write(b)
	}
}

// addMetric adds the series of a metric to the family of its name.
func addMetric(families map[string]*family, m metricdata.Metrics) {
	k, added := seriesOf(m.Data)
	if k == unsupported {
		return
	}
	name := familyName(m.Name, m.Unit, k)
	f := families[name]
	if f == nil {
		f = &family{name: name, help: m.Description, kind: k}
		families[name] = f
	}
	if f.kind == k {
		f.series = append(f.series, added...)
	}
}

func (f *family) write(b *bytes.Buffer) {
	if len(f.series) == 0 {
		return
	}
	if f.help != "" {
		b.WriteString("# HELP " + f.name + " " + strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(f.help) + "\n")
	}
	b.WriteString("# TYPE " + f.name + " " + string(f.kind) + "\n")
	slices.SortStableFunc(f.series, func(x, y series) int { return strings.Compare(x.labels, y.labels) })
	// Two scopes can have the same series, and Prometheus rejects a whole page if a series is on it twice.
	for _, s := range slices.CompactFunc(f.series, func(x, y series) bool { return x.labels == y.labels }) {
		s.lines(b, f.name, s.labels)
	}
}

// seriesOf returns the type of a metric and its series. A sum that can fall is a gauge.
func seriesOf(data metricdata.Aggregation) (kind, []series) {
	switch d := data.(type) {
	case metricdata.Sum[int64]:
		return kindOfSum(d.IsMonotonic), pointSeries(d.DataPoints)
	case metricdata.Sum[float64]:
		return kindOfSum(d.IsMonotonic), pointSeries(d.DataPoints)
	case metricdata.Gauge[int64]:
		return gauge, pointSeries(d.DataPoints)
	case metricdata.Gauge[float64]:
		return gauge, pointSeries(d.DataPoints)
	case metricdata.Histogram[int64]:
		return histogram, histogramSeries(d.DataPoints)
	case metricdata.Histogram[float64]:
		return histogram, histogramSeries(d.DataPoints)
	}
	return unsupported, nil
}

func kindOfSum(isMonotonic bool) kind {
	if isMonotonic {
		return counter
	}
	return gauge
}

func pointSeries[N int64 | float64](points []metricdata.DataPoint[N]) []series {
	all := make([]series, len(points))
	for i, p := range points {
		all[i] = series{labelText(p.Attributes.Iter()), valueLines("", p.Value)}
	}
	return all
}

func histogramSeries[N int64 | float64](points []metricdata.HistogramDataPoint[N]) []series {
	all := make([]series, len(points))
	for i, p := range points {
		all[i] = series{labelText(p.Attributes.Iter()), func(b *bytes.Buffer, name, labels string) {
			var sum uint64 // each bucket of Prometheus includes the counts of the buckets before it
			for i, bound := range p.Bounds {
				sum += p.BucketCounts[i]
				bucketLine(b, name, labels, formatFloat(bound), sum)
			}
			bucketLine(b, name, labels, "+Inf", p.Count)
			valueLines("_sum", p.Sum)(b, name, labels)
			valueLines("_count", int64(p.Count))(b, name, labels) //nolint:gosec // no process observes 2^63 times
		}}
	}
	return all
}

func bucketLine(b *bytes.Buffer, name, labels, bound string, n uint64) {
	if labels != "" {
		labels += ","
	}
	b.WriteString(name + "_bucket{" + labels + `le="` + bound + `"} ` + strconv.FormatUint(n, 10) + "\n")
}

// valueLines returns a function that writes one line with the value v.
func valueLines[N int64 | float64](suffix string, v N) func(b *bytes.Buffer, name, labels string) {
	return func(b *bytes.Buffer, name, labels string) {
		b.WriteString(name + suffix)
		if labels != "" {
			b.WriteString("{" + labels + "}")
		}
		b.WriteByte(' ')
		switch v := any(v).(type) {
		case int64:
			b.WriteString(strconv.FormatInt(v, 10))
		case float64:
			b.WriteString(formatFloat(v))
		}
		b.WriteByte('\n')
	}
}

func formatFloat(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64) // NaN is NaN
}

// labelText returns the labels of a series, sorted by name. Two attributes whose names become equal share a label, as
// in OpenTelemetry's specification. A semicolon joins their values.
func labelText(attributes attribute.Iterator) string {
	values := map[string]string{}
	for attributes.Next() {
		a := attributes.Attribute()
		name, value := labelName(string(a.Key)), strings.ToValidUTF8(a.Value.String(), "\uFFFD")
		if before, ok := values[name]; ok {
			value = before + ";" + value
		}
		values[name] = value
	}
	escape := strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(name + `="` + escape.Replace(values[name]) + `"`)
	}
	return b.String()
}
