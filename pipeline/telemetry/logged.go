package telemetry

import (
	"context"
	"log/slog"
	"sync"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// logEvery is the shortest time between two log lines about the same signal, spans or metrics.
const logEvery = time.Minute

// failureLog logs failed exports, at most one line in logEvery. The exporters below then return nil, because a pipeline
// must also run without its collector.
type failureLog struct {
	log      *slog.Logger
	exporter string

	mu     sync.Mutex
	last   time.Time
	failed int // failures since the last line, including those that are not logged
}

func (c *failureLog) logFailure(ctx context.Context, err error) {
	if err == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed++
	if !c.last.IsZero() && time.Since(c.last) < logEvery {
		return
	}
	c.log.WarnContext(ctx, c.exporter+" are not exported", "exports", c.failed, "error", err)
	c.last, c.failed = time.Now(), 0
}

type loggedSpans struct {
	sdktrace.SpanExporter
	*failureLog
}

func (l loggedSpans) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	l.logFailure(ctx, l.SpanExporter.ExportSpans(ctx, spans))
	return nil
}

type loggedMetrics struct {
	sdkmetric.Exporter
	*failureLog
}

func (l loggedMetrics) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	l.logFailure(ctx, l.Exporter.Export(ctx, rm))
	return nil
}
