package audit

import (
	"context"
	"maps"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/tablewake/tablewake/pipeline/instrument"
)

// scope is the name of the instrumentation. The name of every metric starts with tablewake.audit.
const scope = "github.com/tablewake/tablewake/sinks/audit"

// Metrics are the metrics of audits.
type Metrics struct {
	differences metric.Int64Counter
	open        metric.Int64Counter
	coverage    metric.Float64Gauge
	complete    metric.Float64Gauge
	pipeline    attribute.KeyValue
}

// NewMetrics returns the metrics of the audits of a pipeline. If an instrument cannot be made, it returns an error, and
// metrics in which the other instruments work.
func NewMetrics(p metric.MeterProvider, pipeline string) (*Metrics, error) {
	k := instrument.New(p, scope)
	return &Metrics{
		differences: k.Counter("tablewake.audit.differences", "{entry}",
			"entries that differ, by sink and verdict: missing, extra, stale, wrong, held"),
		open: k.Counter("tablewake.audit.open", "{entry}",
			"entries of which it is unknown whether they differ, by sink and verdict: busy, skipped"),
		coverage: k.Gauge("tablewake.audit.coverage", "1", "share of the table that the last audit compared"),
		complete: k.Gauge("tablewake.audit.complete", "1",
			"1 if the last audit compared everything that it was to compare, 0 if it did not or failed"),
		pipeline: attribute.String("pipeline", pipeline),
	}, k.Err()
}

// MetricTotals are the results of an audit. The zero MetricTotals describe an audit that failed.
type MetricTotals struct {
	Complete bool
	Coverage float64                      // share of the table that was compared, 0 to 1
	Findings map[string]map[Verdict]int64 // by sink
}

// Record records the result of one audit.
func (m *Metrics) Record(ctx context.Context, totals MetricTotals) {
	for _, sink := range slices.Sorted(maps.Keys(totals.Findings)) {
		for verdict, n := range totals.Findings[sink] {
			counter := m.open
			if verdict.Differs() || verdict == Held {
				counter = m.differences
			}
			counter.Add(ctx, n, metric.WithAttributes(m.pipeline, attribute.String("sink", sink),
				attribute.String("verdict", string(verdict))))
		}
	}
	m.coverage.Record(ctx, totals.Coverage, metric.WithAttributes(m.pipeline))
	complete := 0.0
	if totals.Complete {
		complete = 1
	}
	m.complete.Record(ctx, complete, metric.WithAttributes(m.pipeline))
}
