// Package emf exports metrics as documents of CloudWatch's embedded metric format: a
// line of JSON each, which CloudWatch Logs makes metrics of. Nothing is called: what
// Lambda and ECS' awslogs driver take from standard output is enough.
//
// A metric keeps its OpenTelemetry name, in the namespace "tablewake". Each dimension set of
// each metric costs money, so there are two: every metric is published by pipeline, and what
// is of a sink also by pipeline and sink. Over the attributes that are left out counters and
// quantities are added, ages (unit s) are the greatest, and times left (unit h) the least.
// Counters are what was added since the last export; histograms are the values and counts
// of their buckets.
package emf

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// Namespace is that of all metrics in CloudWatch.
const Namespace = "tablewake"

// The dimensions, which are the attributes of that name.
const (
	pipelineKey = "pipeline"
	sinkKey     = "sink"
)

// Options say where documents go.
type Options struct {
	Writer   io.Writer // required; each document is one Write of a whole line
	Pipeline string    // required: the pipeline of metrics that name none
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

// Temporality is delta for all that only grows: CloudWatch adds up what it is given. So it is
// for gauges that are recorded: a value is of the moment at which it was, and the next export
// has it no more. Gauges that are observed are measured for each export.
func (*Exporter) Temporality(kind sdkmetric.InstrumentKind) metricdata.Temporality {
	switch kind {
	case sdkmetric.InstrumentKindCounter, sdkmetric.InstrumentKindObservableCounter, sdkmetric.InstrumentKindHistogram, sdkmetric.InstrumentKindGauge:
		return metricdata.DeltaTemporality
	default:
		return metricdata.CumulativeTemporality
	}
}

// Aggregation is the SDK's default.
func (*Exporter) Aggregation(kind sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(kind)
}

// Export writes the documents of all metrics, and blocks until they are written. It writes
// them where the context is done, too: what was added since the last export is in rm and
// nowhere else any more, and a writer that is the standard output waits for no one.
func (e *Exporter) Export(_ context.Context, rm *metricdata.ResourceMetrics) error {
	b := newBoard(e.o.Pipeline)
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			b.add(m)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, line := range b.documents() {
		if _, err := e.o.Writer.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// ForceFlush does nothing: Export holds nothing back.
func (*Exporter) ForceFlush(context.Context) error { return nil }

// Shutdown does nothing; the writer stays open.
func (*Exporter) Shutdown(context.Context) error { return nil }

// place is a dimension set's values; no sink is the set of the pipeline alone.
type place struct{ pipeline, sink string }

// places are those that a point is published at.
func (b *board) places(attrs attribute.Set) []place {
	pipeline := b.pipeline
	if v, ok := attrs.Value(pipelineKey); ok && v.AsString() != "" {
		pipeline = v.AsString()
	}
	at := []place{{pipeline, ""}}
	if v, ok := attrs.Value(sinkKey); ok && v.AsString() != "" {
		at = append(at, place{pipeline, v.AsString()})
	}
	return at
}

// later is the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
