package handlers

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
)

// Option changes a default of a handler.
type Option func(*options)

type options struct {
	log     *slog.Logger
	meter   metric.MeterProvider
	reserve time.Duration
	margin  time.Duration
	streams shardreader.API
	objects ObjectGetter
	gaps    pipeline.GapStore
	redrive func(context.Context) error
}

func newOptions(opts []Option) options {
	o := options{log: slog.New(slog.DiscardHandler), meter: noop.NewMeterProvider()}
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// WithLogger sets the handler's logger. The handler logs no keys and no values. Default: no log.
func WithLogger(l *slog.Logger) Option {
	return func(o *options) { o.log = cmp.Or(l, o.log) }
}

// WithMeter sets the provider of the metrics tablewake.handler.*. Default: no metrics.
func WithMeter(m metric.MeterProvider) Option {
	return func(o *options) { o.meter = cmp.Or(m, o.meter) }
}

// WithReserve sets the reserve, the time before an invocation's deadline in which the handler starts no Writes. Default
// (0): a tenth of the invocation's time, but at least 200 ms and at most 10 s. The handler limits the reserve to half
// of the invocation's time, so that the other half remains for deliveries.
func WithReserve(d time.Duration) Option { return func(o *options) { o.reserve = d } }

// WithMargin sets the margin. When only the margin is left before an invocation's deadline, the handler cancels the
// Writes in flight. The last flush and the answer need the margin. The handler limits the margin to the reserve.
// Default (0): half of the reserve.
func WithMargin(d time.Duration) Option { return func(o *options) { o.margin = d } }

// WithStreams sets the Streams API from which [OnFailure] fetches the records of a discarded batch. Default: none. A
// message without the event then fails.
func WithStreams(api shardreader.API) Option { return func(o *options) { o.streams = api } }

// WithObjects sets the S3 client with which [OnFailure] reads discarded batches. Default: none. A message that names an
// object then fails.
func WithObjects(s ObjectGetter) Option { return func(o *options) { o.objects = s } }

// WithGaps sets the store in which [OnFailure] stores the gaps of lost records. Default: none. A message whose records
// are lost then fails, so that no loss goes unnoticed.
func WithGaps(g pipeline.GapStore) Option { return func(o *options) { o.gaps = g } }

// WithRedrive sets the function that the handler calls for the event {"tablewake":"redrive"}. The function redrives the
// dead letters of an outage. Its context ends before the invocation's deadline. Default: none. The event then fails.
func WithRedrive(f func(ctx context.Context) error) Option { return func(o *options) { o.redrive = f } }
