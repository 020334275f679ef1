package handlers

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
)

// Option adds to what a handler does by default.
type Option func(*options)

type options struct {
	log     *slog.Logger
	meter   metric.MeterProvider
	reserve time.Duration
	margin  time.Duration
	streams shardreader.API
	objects Objects
	gaps    pipeline.GapStore
	redrive func(context.Context) error
}

func optionsOf(opts []Option) options {
	o := options{log: slog.New(slog.DiscardHandler), meter: noop.NewMeterProvider()}
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// WithLogger is where the handler logs; it logs no keys and no values. Default: nowhere.
func WithLogger(l *slog.Logger) Option {
	return func(o *options) {
		if l != nil {
			o.log = l
		}
	}
}

// WithMeter is where the metrics tablewake.handler.* go. Default: nowhere.
func WithMeter(m metric.MeterProvider) Option {
	return func(o *options) {
		if m != nil {
			o.meter = m
		}
	}
}

// WithReserve is how long before the deadline of an invocation no Write starts any more.
// Default (0): a tenth of the time that the invocation has, at least 200 ms and at most 10 s. It
// is never more than half of that time, so that there is some to deliver in.
func WithReserve(d time.Duration) Option { return func(o *options) { o.reserve = d } }

// WithMargin is how long before the deadline of an invocation the Writes under way are
// cancelled: the time that is left for the answer, and for what is flushed behind it. It is at
// most the reserve. Default (0): half of the reserve.
func WithMargin(d time.Duration) Option { return func(o *options) { o.margin = d } }

// WithStreams is the Streams API by which [Redrive] fetches the records of a batch that
// Lambda gave up. Default: none; messages that tell no more than their place fail.
func WithStreams(api shardreader.API) Option { return func(o *options) { o.streams = api } }

// WithObjects is S3, in which [Redrive] looks up the batches that Lambda gave up. Default:
// none; messages that name an object fail.
func WithObjects(s Objects) Option { return func(o *options) { o.objects = s } }

// WithGaps is where [Redrive] notes records that are lost. Default: nowhere; the message that
// tells of them fails, so that nothing is lost without a trace.
func WithGaps(g pipeline.GapStore) Option { return func(o *options) { o.gaps = g } }

// WithRedrive is what the event {"tablewake":"redrive"} does: redrive the dead letters of an outage.
// ctx ends before the invocation's deadline. Default: such an event is an error.
func WithRedrive(f func(ctx context.Context) error) Option { return func(o *options) { o.redrive = f } }
