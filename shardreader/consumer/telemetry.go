package consumer

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/worker"
)

// scope names the instrumentation. Every metric is called tablewake.reader.*.
const scope = "github.com/tablewake/tablewake/shardreader/consumer"

// telemetry tells OpenTelemetry what is read, and how far it is behind. What stands per
// table is of the table's worst shard.
type telemetry struct {
	calls   metric.Int64Counter
	records metric.Int64Counter
	bytes   metric.Int64Counter
	gaps    metric.Int64Counter
	watch   metric.Registration
}

func newTelemetry(c *Consumer) (*telemetry, error) {
	m := c.o.Meter.Meter(scope)
	t := &telemetry{}
	var errs [5]error
	t.calls, errs[0] = m.Int64Counter("tablewake.reader.calls", metric.WithUnit("{call}"),
		metric.WithDescription("calls of the Streams API, by operation and outcome"))
	t.records, errs[1] = m.Int64Counter("tablewake.reader.records", metric.WithUnit("{record}"),
		metric.WithDescription("records of GetRecords answers, by table"))
	t.bytes, errs[2] = m.Int64Counter("tablewake.reader.bytes", metric.WithUnit("By"),
		metric.WithDescription("bytes of GetRecords answers, by table"))
	t.gaps, errs[3] = m.Int64Counter("tablewake.reader.gaps", metric.WithUnit("{gap}"),
		metric.WithDescription("parts of shards that the stream dropped before they were read, by table: data loss"))
	errs[4] = t.observe(c, m)
	return t, errors.Join(errs[:]...)
}

// observe shows how the worker stands.
func (t *telemetry) observe(c *Consumer, m metric.Meter) error {
	lag, err1 := m.Float64ObservableGauge("tablewake.reader.lag", metric.WithUnit("s"),
		metric.WithDescription("age of the last record that is durable in every sink, of shards that have newer ones, by table"))
	age, err2 := m.Float64ObservableGauge("tablewake.reader.age", metric.WithUnit("s"),
		metric.WithDescription("age of the last record read, of shards that have newer ones, by table"))
	loss, err3 := m.Float64ObservableGauge("tablewake.reader.loss", metric.WithUnit("h"),
		metric.WithDescription("hours until the stream drops records that are not durable in every sink, by table"))
	held, err4 := m.Int64ObservableGauge("tablewake.reader.leases", metric.WithUnit("{lease}"),
		metric.WithDescription("leases that this worker reads, by table"))
	stopped, err5 := m.Int64ObservableGauge("tablewake.reader.stopped", metric.WithUnit("{shard}"),
		metric.WithDescription("shards that this worker reads no further, by table"))
	forecast, err6 := m.Float64ObservableGauge("tablewake.reader.forecast", metric.WithUnit("{call}"),
		metric.WithDescription("GetRecords calls that this worker makes in 30 days at the rate of late"))
	prefetch, err7 := m.Int64ObservableGauge("tablewake.reader.prefetched", metric.WithUnit("By"),
		metric.WithDescription("bytes of pages that were read and that the pipeline did not take yet"))
	contact, err8 := m.Int64ObservableGauge("tablewake.reader.contact",
		metric.WithDescription("1 while the others know that this worker lives, else 0"))
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8); err != nil {
		return err
	}
	var err error
	t.watch, err = m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := c.Status()
		for table, v := range standing(s, time.Now(), c.o.Worker.Retention) {
			of := metric.WithAttributes(attribute.String("table", table))
			o.ObserveFloat64(lag, v.lag.Seconds(), of)
			o.ObserveFloat64(age, v.age.Seconds(), of)
			o.ObserveFloat64(loss, max(0, (c.o.Worker.Retention-v.lag).Hours()), of)
			o.ObserveInt64(held, v.leases, of)
			o.ObserveInt64(stopped, v.stopped, of)
		}
		o.ObserveFloat64(forecast, s.Member.Calls)
		c.mu.Lock()
		bytes := c.bytes
		c.mu.Unlock()
		o.ObserveInt64(prefetch, bytes)
		n := int64(0)
		if s.Contact {
			n = 1
		}
		o.ObserveInt64(contact, n)
		return nil
	}, lag, age, loss, held, stopped, forecast, prefetch, contact)
	return err
}

// stand is how far a table's shards are.
type stand struct {
	lag, age        time.Duration // of the worst shard
	leases, stopped int64
}

// standing is how the tables stand, by their names.
func standing(s worker.Status, now time.Time, retention time.Duration) map[string]stand {
	tables := make(map[string]stand)
	for _, p := range s.Partitions {
		table := tableOf(p.Stream)
		v := tables[table]
		v.leases++
		if p.Stopped != "" {
			v.stopped++
		}
		v.lag, v.age = max(v.lag, lagOf(p, now, retention)), max(v.age, ageOf(p, now, retention))
		tables[table] = v
	}
	return tables
}

// lagOf is the age of the oldest record that is not durable everywhere. A shard of
// which all is read and durable has none, however old its last record is.
func lagOf(p worker.Partition, now time.Time, retention time.Duration) time.Duration {
	if p.Pending > 0 && !p.Oldest.IsZero() {
		return max(0, now.Sub(p.Oldest))
	}
	return ageOf(p, now, retention)
}

// ageOf is the age of the last record read, of a shard that may have newer ones. Where
// nothing is known of a shard whose reading fails, it is all that the stream keeps.
func ageOf(p worker.Partition, now time.Time, retention time.Duration) time.Duration {
	switch {
	case !p.Opened && p.Failures < stuckFailures && p.Stopped == "":
		return 0 // too early to tell
	case !p.Behind && p.Stopped == "":
		return 0
	case p.Last.IsZero():
		return retention
	}
	return max(0, now.Sub(p.Last))
}

// tableOf is the table of a stream's ARN.
func tableOf(stream string) string {
	_, rest, _ := strings.Cut(stream, ":table/")
	table, _, _ := strings.Cut(rest, "/stream/")
	return table
}

func ofTable(stream string) metric.MeasurementOption {
	return metric.WithAttributes(attribute.String("table", tableOf(stream)))
}

// called counts a call of the Streams API.
func (t *telemetry) called(ctx context.Context, op string, err error) {
	t.calls.Add(ctx, 1, metric.WithAttributes(attribute.String("operation", op), attribute.String("outcome", outcome(err))))
}

func outcome(err error) string {
	_, again := pipeline.Retryable(err)
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, shardreader.ErrExpiredIterator):
		return "expired_iterator"
	case errors.Is(err, shardreader.ErrTrimmed):
		return "trimmed"
	case errors.Is(err, shardreader.ErrNotFound):
		return "not_found"
	case errors.Is(err, shardreader.ErrDenied):
		return "denied"
	case again:
		return "transient"
	}
	return "error"
}

func (t *telemetry) read(ctx context.Context, stream string, page *pipeline.Page) {
	if page == nil || len(page.Changes)+len(page.Errors) == 0 {
		return
	}
	of := ofTable(stream)
	t.records.Add(ctx, int64(len(page.Changes)+len(page.Errors)), of)
	t.bytes.Add(ctx, int64(page.Bytes), of)
}

// noted counts a gap when it becomes known, not when it is completed.
func (t *telemetry) noted(ctx context.Context, g worker.Gap) {
	if g.Before == "" {
		t.gaps.Add(ctx, 1, ofTable(g.Stream))
	}
}

// close ends the observing.
func (t *telemetry) close() error { return t.watch.Unregister() }
