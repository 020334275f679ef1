package telemetry

import (
	"context"
	"errors"
	"sync"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// flushableReader is a reader of metrics that can export at once.
type flushableReader interface {
	sdkmetric.Reader
	flush(context.Context) error
}

// periodicReader exports once in each OTEL_METRIC_EXPORT_INTERVAL (60 s by default), and in flush.
type periodicReader struct{ *sdkmetric.PeriodicReader }

func (p periodicReader) flush(ctx context.Context) error { return p.ForceFlush(ctx) }

// manualReader exports only in flush and Shutdown. It has no timer, because Lambda freezes the process, and a timer in
// a frozen process fires at the wrong time or never.
type manualReader struct {
	*sdkmetric.ManualReader
	exporter sdkmetric.Exporter

	mu   sync.Mutex
	data metricdata.ResourceMetrics // reused memory
}

func newManual(x sdkmetric.Exporter) *manualReader {
	return &manualReader{exporter: x, ManualReader: sdkmetric.NewManualReader(
		sdkmetric.WithTemporalitySelector(x.Temporality), sdkmetric.WithAggregationSelector(x.Aggregation))}
}

// flush exports the metrics. If ctx is done, flush collects nothing, so that the next flush exports everything.
//
// If an export fails, the exporter's temporality decides what is lost. OTLP is cumulative by default: the SDK keeps the
// totals, so the next successful export includes the values of the failed one. If
// OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE is delta, OTLP's client retries within ctx, and a failed export is
// lost after that. flush does not send it again, because values that did arrive would count twice. EMF is delta, too,
// but its exporter writes even if ctx is done.
func (m *manualReader) flush(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return m.export(ctx)
}

func (m *manualReader) export(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.data.ScopeMetrics = m.data.ScopeMetrics[:0]
	err := m.Collect(context.WithoutCancel(ctx), &m.data)
	if err != nil && len(m.data.ScopeMetrics) == 0 {
		return err
	}
	return errors.Join(err, m.exporter.Export(ctx, &m.data)) // if a callback failed, other metrics are still exported
}

// Shutdown exports the metrics even if ctx is done, because no other export follows. It also stops the exporter.
func (m *manualReader) Shutdown(ctx context.Context) error {
	return errors.Join(m.export(ctx), m.ManualReader.Shutdown(ctx), m.exporter.Shutdown(ctx))
}
