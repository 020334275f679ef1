// Package emf exports metrics as documents of CloudWatch's embedded metric format. Each document is a line of JSON,
// from which CloudWatch Logs extracts metrics. The exporter makes no network call, because Lambda and the awslogs
// driver of ECS collect the standard output.
//
// A metric keeps its OpenTelemetry name, in the namespace "tablewake". Each dimension set of a metric costs money, so
// there are only two. One set has only the dimension pipeline, and every metric is in it. The other set has the
// dimensions pipeline and sink, and only metrics of sinks are in it. Points that differ in other attributes are merged.
// Counters and quantities are added. For ages (unit s), the greatest value is kept. For times that are left (unit h),
// the least value is kept. A counter has the sum since the last export. A histogram has the values and counts of its
// buckets.
//
// Start reading at Export in emf.go. metric_points.go merges the points, and emf_document.go writes them.
package emf

import (
	"context"
	"errors"
	"io"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// Namespace is the namespace of all metrics in CloudWatch.
const Namespace = "tablewake"

// The dimensions. The value of each is the attribute of the same name.
const (
	pipelineKey = "pipeline"
	sinkKey     = "sink"
)

// Options are the options of [New].
type Options struct {
	Writer   io.Writer // required; each document is one Write of a whole line
	Pipeline string    // required: the dimension pipeline of metrics without an attribute pipeline
}

// Exporter writes documents. It is safe for concurrent use.
type Exporter struct {
	o  Options
	mu sync.Mutex
}

var _ sdkmetric.Exporter = (*Exporter)(nil)

// New checks the options. The error names the option.
func New(o Options) (*Exporter, error) {
	switch {
	case o.Writer == nil:
		return nil, errors.New("emf: Writer is nil: give where documents go")
	case o.Pipeline == "":
		return nil, errors.New("emf: Pipeline is empty: give the pipeline's name")
	}
	return &Exporter{o: o}, nil
}

// Temporality returns delta for counters and histograms, because CloudWatch adds the values of documents. It returns
// delta for recorded gauges, too: such a gauge has the value of one moment, and the next export must not repeat it.
// Other instruments are cumulative. Observed gauges are measured again at each export.
func (*Exporter) Temporality(kind sdkmetric.InstrumentKind) metricdata.Temporality {
	switch kind {
	case sdkmetric.InstrumentKindCounter, sdkmetric.InstrumentKindObservableCounter, sdkmetric.InstrumentKindHistogram,
		sdkmetric.InstrumentKindGauge:
		return metricdata.DeltaTemporality
	default:
		return metricdata.CumulativeTemporality
	}
}

// Aggregation returns the SDK's default.
func (*Exporter) Aggregation(kind sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(kind)
}

// Export writes the documents of all metrics, and blocks until they are written. It writes even if the context is done.
// rm is the only copy of the values since the last export, and writing to the standard output does not wait.
func (e *Exporter) Export(_ context.Context, rm *metricdata.ResourceMetrics) error {
	export := export{pipeline: e.o.Pipeline, documents: make(map[dimensions]*document)}
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			export.add(m)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, line := range export.lines() {
		if _, err := e.o.Writer.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// ForceFlush does nothing, because Export buffers nothing.
func (*Exporter) ForceFlush(context.Context) error { return nil }

// Shutdown does nothing. The writer stays open.
func (*Exporter) Shutdown(context.Context) error { return nil }

// dimensions has the values of a dimension set. sink is "" in the set that has only the pipeline.
type dimensions struct{ pipeline, sink string }

// dimensionSets returns the dimension sets of a point.
func (e *export) dimensionSets(attrs attribute.Set) []dimensions {
	pipeline := e.pipeline
	if v, ok := attrs.Value(pipelineKey); ok && v.AsString() != "" {
		pipeline = v.AsString()
	}
	sets := []dimensions{{pipeline, ""}}
	if v, ok := attrs.Value(sinkKey); ok && v.AsString() != "" {
		sets = append(sets, dimensions{pipeline, v.AsString()})
	}
	return sets
}
