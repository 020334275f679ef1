package pipeline

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/tablewake/tablewake/pipeline/instrument"
	"github.com/tablewake/tablewake/pipeline/record"
)

// scope is the name of the instrumentation scope of OpenTelemetry. All names of metrics and spans begin with tablewake.
const scope = "github.com/tablewake/tablewake/pipeline"

// telemetry reports metrics and spans of the pipeline. The counters of records and deliveries are read from the ledgers
// when metrics are collected. So these counters cost nothing per record, and agree with the ledgers.
type telemetry struct {
	tracer       trace.Tracer
	prepare      metric.Float64Histogram
	duration     metric.Float64Histogram // of one Write
	size         metric.Int64Histogram   // of one Write
	retries      metric.Int64Counter
	letters      metric.Int64Counter
	pipelineAttr attribute.KeyValue
	prepareAttrs metric.MeasurementOption
}

// sinkTelemetry is the telemetry of one sink.
type sinkTelemetry struct {
	*telemetry
	sinkAttrs metric.MeasurementOption
	attrs     []attribute.KeyValue
}

func newTelemetry(p *Pipeline) (*telemetry, error) {
	k := instrument.New(p.options.Meter, scope)
	t := &telemetry{tracer: p.options.Tracer.Tracer(scope), pipelineAttr: attribute.String("pipeline", p.options.Name)}
	t.prepareAttrs = metric.WithAttributeSet(attribute.NewSet(t.pipelineAttr))
	t.prepare = k.Durations("tablewake.prepare.duration", "time to decode, filter, detect and plan one page")
	t.duration = k.Durations("tablewake.write.duration", "time of one Write of a sink")
	t.size = k.Sizes("tablewake.write.batch.size", "{delivery}", "deliveries of one Write")
	t.retries = k.Counter("tablewake.sink.retries", "{delivery}", "deliveries that failed and are tried again")
	t.letters = k.Counter("tablewake.sink.letters", "{delivery}",
		"deliveries put into dead letters, by sink and class; records that cannot be decoded are of no sink")
	for _, r := range p.routes {
		attrs := []attribute.KeyValue{t.pipelineAttr, attribute.String("sink", r.Name)}
		r.tel = &sinkTelemetry{t, metric.WithAttributeSet(attribute.NewSet(attrs...)), attrs}
	}
	t.observeLedger(p, k)
	t.observeFlight(p, k)
	t.observeHeldBack(p, k)
	return t, k.Err()
}

// ledgerCounters has the instruments that report the ledgers.
type ledgerCounters struct {
	records, deliveries, events metric.Int64ObservableCounter
	pending                     metric.Int64ObservableGauge
}

// observeLedger reports the ledgers as counters.
func (t *telemetry) observeLedger(p *Pipeline, k *instrument.Maker) {
	c := ledgerCounters{
		records:    k.ObservableCounter("tablewake.source.records", "{record}", "records read, by outcome and reason"),
		deliveries: k.ObservableCounter("tablewake.sink.deliveries", "{delivery}", "deliveries finished, by sink, outcome and reason"),
		events:     k.ObservableCounter("tablewake.events", "{event}", "events raised, by detector"),
		pending:    k.ObservableIntGauge("tablewake.sink.pending", "{delivery}", "deliveries routed and not finished, by sink"),
	}
	k.Observe(func(_ context.Context, o metric.Observer) error {
		l := p.Ledger()
		t.observeSource(o, c, &l)
		for sink, s := range l.Sinks {
			t.observeSink(o, c, sink, &s)
		}
		return nil
	}, c.records, c.deliveries, c.events, c.pending)
}

// with returns the attributes of a measurement, as names and values by turns.
func (t *telemetry) with(namesAndValues ...string) metric.ObserveOption {
	attrs := []attribute.KeyValue{t.pipelineAttr}
	for pair := range slices.Chunk(namesAndValues, 2) {
		attrs = append(attrs, attribute.String(pair[0], pair[1]))
	}
	return metric.WithAttributes(attrs...)
}

// observeSource reports the ledger of the source, and the events.
func (t *telemetry) observeSource(o metric.Observer, c ledgerCounters, l *Ledger) {
	o.ObserveInt64(c.records, l.Source.Duplicate, t.with("outcome", "duplicate"))
	o.ObserveInt64(c.records, l.Source.Unrouted, t.with("outcome", "unrouted"))
	o.ObserveInt64(c.records, l.Source.Undecodable, t.with("outcome", "undecodable"))
	o.ObserveInt64(c.records, l.Source.Routed, t.with("outcome", "routed"))
	for reason, n := range l.Source.Filtered {
		o.ObserveInt64(c.records, n, t.with("outcome", "filtered", "reason", reason))
	}
	for detector, n := range l.Events {
		o.ObserveInt64(c.events, n, t.with("detector", detector))
	}
}

// observeSink reports the ledger of a sink.
func (t *telemetry) observeSink(o metric.Observer, c ledgerCounters, sink string, s *SinkLedger) {
	o.ObserveInt64(c.pending, s.Pending, t.with("sink", sink))
	for outcome := Written; outcome <= Revoked; outcome++ {
		if n := s.counterOf(outcome); n != nil {
			o.ObserveInt64(c.deliveries, *n, t.with("sink", sink, "outcome", outcome.String()))
		}
	}
	for reason, n := range s.NoEffect {
		o.ObserveInt64(c.deliveries, n, t.with("sink", sink, "outcome", NoEffect.String(), "reason", reason))
	}
	for reason, n := range s.RouteFiltered {
		o.ObserveInt64(c.deliveries, n, t.with("sink", sink, "outcome", "dropped", "reason", reason))
	}
}

// observeFlight reports the memory in flight, and the lag of each stage.
func (t *telemetry) observeFlight(p *Pipeline, k *instrument.Maker) {
	bytes := k.ObservableIntGauge("tablewake.inflight.bytes", "By", "memory pinned by pages and changes in flight")
	changes := k.ObservableIntGauge("tablewake.inflight.changes", "{change}", "changes in flight")
	lag := k.ObservableGauge("tablewake.lag", "s", "age of the newest change that a stage is done with: read, or sink")
	ofPipeline := metric.WithAttributes(t.pipelineAttr)
	observeLag := func(o metric.Observer, newest time.Time, stage ...attribute.KeyValue) {
		if !newest.IsZero() {
			o.ObserveFloat64(lag, time.Since(newest).Seconds(), ofPipeline, metric.WithAttributes(stage...))
		}
	}
	k.Observe(func(_ context.Context, o metric.Observer) error {
		var used amount
		written := make([]time.Time, len(p.routes))
		p.mu.Lock()
		if p.run != nil {
			used = p.run.memory.used
		}
		read := p.newest
		for i, r := range p.routes {
			written[i] = r.newest
		}
		p.mu.Unlock()
		o.ObserveInt64(bytes, used.bytes, ofPipeline)
		o.ObserveInt64(changes, used.changes, ofPipeline)
		observeLag(o, read, attribute.String("stage", "read"))
		for i, r := range p.routes {
			observeLag(o, written[i], attribute.String("stage", "sink"), attribute.String("sink", r.Name))
		}
		return nil
	}, bytes, changes, lag)
}

// page starts the span of a page. The span lasts from the preparation until the page is finished.
func (t *telemetry) page(ctx context.Context, partition string) trace.Span {
	_, span := t.tracer.Start(ctx, "tablewake.page",
		trace.WithAttributes(t.pipelineAttr, attribute.String("partition", partition)))
	return span
}

// countUndecodable counts dead letters of undecodable records.
func (t *telemetry) countUndecodable(ctx context.Context, n int) {
	t.letters.Add(ctx, int64(n),
		metric.WithAttributes(t.pipelineAttr, attribute.String("class", record.ClassUndecodable)))
}

// write starts the span of a Write, linked to the spans of its pages. The returned function ends it.
func (t *sinkTelemetry) write(ctx context.Context, b *batch) (context.Context, func(ended time.Time, failed int)) {
	deliveries := int64(b.count)
	ctx, span := t.tracer.Start(ctx, "tablewake.write", trace.WithLinks(b.pageLinks()...),
		trace.WithAttributes(t.attrs...), trace.WithAttributes(attribute.Int64("deliveries", deliveries)))
	began := time.Now()
	return ctx, func(ended time.Time, failed int) {
		t.duration.Record(ctx, ended.Sub(began).Seconds(), t.sinkAttrs)
		t.size.Record(ctx, deliveries, t.sinkAttrs)
		if failed > 0 {
			span.SetAttributes(attribute.Int("failed", failed))
			span.SetStatus(codes.Error, "deliveries failed")
		}
		span.End()
	}
}

// pageLinks returns links to the spans of the pages of a batch. Consecutive deliveries of one page have one link.
func (b *batch) pageLinks() []trace.Link {
	var links []trace.Link
	var lastPage *inflightPage
	link := func(page *inflightPage) {
		if page == lastPage {
			return
		}
		lastPage = page
		if spanContext := page.span.SpanContext(); spanContext.IsValid() {
			links = append(links, trace.Link{SpanContext: spanContext})
		}
	}
	for i := range b.sinkDeliveries {
		link(b.deliveries[i].page)
	}
	for i := range b.chunks {
		link(b.chunks[i].page)
	}
	return links
}

func (t *sinkTelemetry) retried(ctx context.Context) { t.retries.Add(ctx, 1, t.sinkAttrs) }

func (t *sinkTelemetry) countLetter(ctx context.Context, class string) {
	t.letters.Add(ctx, 1, t.sinkAttrs, metric.WithAttributes(attribute.String("class", class)))
}
