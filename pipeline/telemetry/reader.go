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

func (m *manual) flush(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.Collect(ctx, &m.data); err != nil {
		return err
	}
	return m.exporter.Export(ctx, &m.data) // which keeps nothing back
}

// Shutdown exports what there is, and ends the exporter too.
func (m *manual) Shutdown(ctx context.Context) error {
	return errors.Join(m.flush(ctx), m.ManualReader.Shutdown(ctx), m.exporter.Shutdown(ctx))
}
