package pipeline

import (
	"context"
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
	tracer   trace.Tracer
	prepare  metric.Float64Histogram
	duration metric.Float64Histogram // of one Write
	size     metric.Int64Histogram   // of one Write
	retries  metric.Int64Counter
	letters  metric.Int64Counter
	name     attribute.KeyValue
	preps    metric.MeasurementOption
}

// sinkTelemetry is the telemetry of one sink.
type sinkTelemetry struct {
	*telemetry
	set   metric.MeasurementOption
	attrs []attribute.KeyValue
}

func newTelemetry(p *Pipeline) (*telemetry, error) {
	k := instrument.New(p.options.Meter, scope)
	t := &telemetry{tracer: p.options.Tracer.Tracer(scope), name: attribute.String("pipeline", p.options.Name)}
	t.preps = metric.WithAttributeSet(attribute.NewSet(t.name))
	t.prepare = k.Durations("tablewake.prepare.duration", "time to decode, filter, detect and plan one page")
	t.duration = k.Durations("tablewake.write.duration", "time of one Write of a sink")
	t.size = k.Sizes("tablewake.write.batch.size", "{delivery}", "deliveries of one Write")
	t.retries = k.Counter("tablewake.sink.retries", "{delivery}", "deliveries that failed and are tried again")
	t.letters = k.Counter("tablewake.sink.letters", "{delivery}",
		"deliveries put into dead letters, by sink and class; records that cannot be decoded are of no sink")
	for _, r := range p.routes {
		attrs := []attribute.KeyValue{t.name, attribute.String("sink", r.Name)}
		r.tel = &sinkTelemetry{t, metric.WithAttributeSet(attribute.NewSet(attrs...)), attrs}
	}
	t.observeLedger(p, k)
	t.observeFlight(p, k)
	t.observeHeldBack(p, k)
	return t, k.Err()
}

// observeLedger reports the ledgers as counters.
func (t *telemetry) observeLedger(p *Pipeline, k *instrument.Maker) {
	records := k.ObservableCounter("tablewake.source.records", "{record}", "records read, by outcome and reason")
	deliveries := k.ObservableCounter("tablewake.sink.deliveries", "{delivery}", "deliveries finished, by sink, outcome and reason")
	events := k.ObservableCounter("tablewake.events", "{event}", "events raised, by detector")
	pending := k.ObservableIntGauge("tablewake.sink.pending", "{delivery}", "deliveries routed and not finished, by sink")
	k.Observe(func(_ context.Context, o metric.Observer) error {
		l := p.Ledger()
		with := func(kv ...string) metric.ObserveOption {
			attrs := []attribute.KeyValue{t.name}
			for i := 0; i < len(kv); i += 2 {
				attrs = append(attrs, attribute.String(kv[i], kv[i+1]))
			}
			return metric.WithAttributes(attrs...)
		}
		o.ObserveInt64(records, l.Source.Duplicate, with("outcome", "duplicate"))
		o.ObserveInt64(records, l.Source.Unrouted, with("outcome", "unrouted"))
		o.ObserveInt64(records, l.Source.Undecodable, with("outcome", "undecodable"))
		o.ObserveInt64(records, l.Source.Routed, with("outcome", "routed"))
		for reason, n := range l.Source.Filtered {
			o.ObserveInt64(records, n, with("outcome", "filtered", "reason", reason))
		}
		for detector, n := range l.Events {
			o.ObserveInt64(events, n, with("detector", detector))
		}
		for sink, s := range l.Sinks {
			o.ObserveInt64(pending, s.Pending, with("sink", sink))
			for outcome := Written; outcome <= Revoked; outcome++ {
				if n := s.counterOf(outcome); n != nil {
					o.ObserveInt64(deliveries, *n, with("sink", sink, "outcome", outcome.String()))
				}
			}
			for reason, n := range s.NoEffect {
				o.ObserveInt64(deliveries, n, with("sink", sink, "outcome", NoEffect.String(), "reason", reason))
			}
			for reason, n := range s.RouteFiltered {
				o.ObserveInt64(deliveries, n, with("sink", sink, "outcome", "dropped", "reason", reason))
			}
		}
		return nil
	}, records, deliveries, events, pending)
}

// observeFlight reports the memory in flight, and the lag of each stage.
func (t *telemetry) observeFlight(p *Pipeline, k *instrument.Maker) {
	bytes := k.ObservableIntGauge("tablewake.inflight.bytes", "By", "memory pinned by pages and changes in flight")
	changes := k.ObservableIntGauge("tablewake.inflight.changes", "{change}", "changes in flight")
	lag := k.ObservableGauge("tablewake.lag", "s", "age of the newest change that a stage is done with: read, or sink")
	name := metric.WithAttributes(t.name)
	observeLag := func(o metric.Observer, newest time.Time, stage ...attribute.KeyValue) {
		if !newest.IsZero() {
			o.ObserveFloat64(lag, time.Since(newest).Seconds(), name, metric.WithAttributes(stage...))
		}
	}
	k.Observe(func(_ context.Context, o metric.Observer) error {
		var used amount
		written := make([]time.Time, len(p.routes))
		p.mu.Lock()
		if p.run != nil {
			used = p.run.bounds.used
		}
		read := p.newest
		for i, r := range p.routes {
			written[i] = r.newest
		}
		p.mu.Unlock()
		o.ObserveInt64(bytes, used.bytes, name)
		o.ObserveInt64(changes, used.changes, name)
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
		trace.WithAttributes(t.name, attribute.String("partition", partition)))
	return span
}

// countUndecodable counts dead letters of undecodable records.
func (t *telemetry) countUndecodable(ctx context.Context, n int) {
	t.letters.Add(ctx, int64(n), metric.WithAttributes(t.name, attribute.String("class", record.ClassUndecodable)))
}

// write starts the span of a Write, linked to the spans of its pages. The returned function ends it.
func (t *sinkTelemetry) write(ctx context.Context, b *batch) (context.Context, func(ended time.Time, failed int)) {
	deliveries := int64(b.n)
	ctx, span := t.tracer.Start(ctx, "tablewake.write", trace.WithLinks(b.pageLinks()...),
		trace.WithAttributes(t.attrs...), trace.WithAttributes(attribute.Int64("deliveries", deliveries)))
	began := time.Now()
	return ctx, func(ended time.Time, failed int) {
		t.duration.Record(ctx, ended.Sub(began).Seconds(), t.set)
		t.size.Record(ctx, deliveries, t.set)
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

func (t *sinkTelemetry) retried(ctx context.Context) { t.retries.Add(ctx, 1, t.set) }

func (t *sinkTelemetry) countLetter(ctx context.Context, class string) {
	t.letters.Add(ctx, 1, t.set, metric.WithAttributes(attribute.String("class", class)))
}
