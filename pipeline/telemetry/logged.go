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

// complainEvery is how often failures of one signal are logged.
const complainEvery = time.Minute

// complaint logs exports that fail. A collector that is down is told of now and then, and
// is nobody's error: a pipeline goes on without being watched.
type complaint struct {
	log  *slog.Logger
	what string

	mu     sync.Mutex
	last   time.Time
	failed int // since then
}

func (c *complaint) hear(ctx context.Context, err error) {
	if err == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed++
	if !c.last.IsZero() && time.Since(c.last) < complainEvery {
		return
	}
	c.log.WarnContext(ctx, c.what+" are not exported", "exports", c.failed, "error", err)
	c.last, c.failed = time.Now(), 0
}

type loggedSpans struct {
	sdktrace.SpanExporter
	*complaint
}

func (l loggedSpans) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	l.hear(ctx, l.SpanExporter.ExportSpans(ctx, spans))
	return nil
}

type loggedMetrics struct {
	sdkmetric.Exporter
	*complaint
}

func (l loggedMetrics) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	l.hear(ctx, l.Exporter.Export(ctx, rm))
	return nil
}
