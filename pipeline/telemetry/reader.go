package telemetry

import (
	"context"
	"errors"
	"sync"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// flusher is a reader of metrics that exports what there is when it is told to.
type flusher interface {
	sdkmetric.Reader
	flush(context.Context) error
}

// periodic exports every OTEL_METRIC_EXPORT_INTERVAL (60 s), and when it is told to.
type periodic struct{ *sdkmetric.PeriodicReader }

func (p periodic) flush(ctx context.Context) error { return p.ForceFlush(ctx) }

// manual exports when it is told to, and never by itself: a timer of a process that is
// frozen fires at the wrong time, or never.
type manual struct {
	*sdkmetric.ManualReader
	exporter sdkmetric.Exporter

	mu   sync.Mutex
	data metricdata.ResourceMetrics // kept for its memory
}

func newManual(x sdkmetric.Exporter) *manual {
	return &manual{exporter: x, ManualReader: sdkmetric.NewManualReader(
		sdkmetric.WithTemporalitySelector(x.Temporality), sdkmetric.WithAggregationSelector(x.Aggregation))}
}

// flush exports what there is. Where ctx is done nothing is collected, so that the next flush
// has it all.
//
// What is collected and not exported depends on the temporality that the exporter asks for.
// OTLP's is cumulative, unless OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE says
// otherwise: the SDK keeps the totals, and the next export that arrives makes up for those
// that did not. Of deltas nothing is kept: with that preference an export that fails, after
// the tries that OTLP's client makes within ctx, is lost; to send it once more might count
// twice what did arrive. EMF is of deltas too, and writes whatever ctx says.
func (m *manual) flush(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return m.export(ctx)
}

func (m *manual) export(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.data.ScopeMetrics = m.data.ScopeMetrics[:0]
	err := m.Collect(context.WithoutCancel(ctx), &m.data)
	if err != nil && len(m.data.ScopeMetrics) == 0 {
		return err
	}
	return errors.Join(err, m.exporter.Export(ctx, &m.data)) // a callback that fails costs nobody else's counts
}

// Shutdown exports what there is, also where ctx is done, since nobody comes after it, and
// ends the exporter too.
func (m *manual) Shutdown(ctx context.Context) error {
	return errors.Join(m.export(ctx), m.ManualReader.Shutdown(ctx), m.exporter.Shutdown(ctx))
}
