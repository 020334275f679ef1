package consumer

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/instrument"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/coordinator"
)

// scope names the instrumentation. Every metric is called tablewake.reader.*.
const scope = "github.com/tablewake/tablewake/shardreader/consumer"

// telemetry holds the metrics of a consumer. The gauges lag, age and loss report, for each table, the value of the
// table's worst shard.
type telemetry struct {
	pipeline     []attribute.KeyValue // the attribute pipeline; empty without Options.Pipeline
	calls        metric.Int64Counter
	records      metric.Int64Counter
	bytes        metric.Int64Counter
	gaps         metric.Int64Counter
	registration metric.Registration

	mu            sync.Mutex
	attributeSets map[labels]metric.MeasurementOption // all sets that were used so far
}

// label is an attribute of a measurement.
type label struct{ name, value string }

// labels are the attributes of a measurement except the attribute pipeline. Empty labels are not attributes.
type labels [2]label

func newTelemetry(c *Consumer) (*telemetry, error) {
	instruments := instrument.New(c.options.Meter, scope)
	t := &telemetry{
		attributeSets: make(map[labels]metric.MeasurementOption),
		calls:         instruments.Counter("tablewake.reader.calls", "{call}", "calls of the Streams API, by operation and outcome"),
		records:       instruments.Counter("tablewake.reader.records", "{record}", "records of GetRecords answers, by table"),
		bytes:         instruments.Counter("tablewake.reader.bytes", "By", "bytes of GetRecords answers, by table"),
		gaps: instruments.Counter("tablewake.reader.gaps", "{gap}",
			"parts of shards that the stream dropped before they were read, by table: data loss"),
	}
	if c.options.Pipeline != "" {
		t.pipeline = []attribute.KeyValue{attribute.String("pipeline", c.options.Pipeline)}
	}
	t.registerGauges(c, instruments)
	return t, instruments.Err()
}

// attributes returns the attribute set of a measurement. It creates each set once, because thousands of calls a second
// are counted.
func (t *telemetry) attributes(l labels) metric.MeasurementOption {
	t.mu.Lock()
	defer t.mu.Unlock()
	set, isKnown := t.attributeSets[l]
	if isKnown {
		return set
	}
	attrs := slices.Clone(t.pipeline)
	for _, label := range l {
		if label.name != "" {
			attrs = append(attrs, attribute.String(label.name, label.value))
		}
	}
	set = metric.WithAttributeSet(attribute.NewSet(attrs...))
	t.attributeSets[l] = set
	return set
}

// registerGauges registers the gauges. The gauges read the consumer's status.
func (t *telemetry) registerGauges(c *Consumer, instruments *instrument.Maker) {
	lag := instruments.ObservableGauge("tablewake.reader.lag", "s",
		"age of the oldest record that is not durable in every sink, 0 where nothing is left, by table")
	age := instruments.ObservableGauge("tablewake.reader.age", "s", "age of the last record read, of shards that have newer ones, by table")
	loss := instruments.ObservableGauge("tablewake.reader.loss", "h",
		"hours until the stream drops records that are not durable in every sink, by table")
	leases := instruments.ObservableIntGauge("tablewake.reader.leases", "{lease}", "leases that this consumer has, by table")
	stopped := instruments.ObservableIntGauge("tablewake.reader.stopped", "{shard}", "shards that this consumer reads no further, by table")
	forecast := instruments.ObservableGauge("tablewake.reader.forecast", "{call}",
		"GetRecords calls that this consumer makes in 30 days at the rate of late")
	prefetch := instruments.ObservableIntGauge("tablewake.reader.prefetched", "By",
		"bytes of pages that were read and that the pipeline did not take yet")
	contact := instruments.ObservableIntGauge("tablewake.reader.contact", "1", "1 while the others know that this consumer lives, else 0")
	unwritten := instruments.ObservableGauge("tablewake.reader.unwritten", "s",
		"for how long a checkpoint could not be written, or the lease table not be read; 0 where that is no longer than a lease lasts")
	unrepaired := instruments.ObservableIntGauge("tablewake.reader.unrepaired", "{gap}",
		"noted gaps whose sinks are not repaired, at the last look (on_gap: repair)")
	noLabels := t.attributes(labels{})
	t.registration = instruments.Observe(func(_ context.Context, o metric.Observer) error {
		s := c.Status()
		for table, measured := range measureTables(s, time.Now(), c.options.Coordinator.Retention) {
			tableLabels := t.attributes(labels{{"table", table}})
			o.ObserveFloat64(lag, measured.lag.Seconds(), tableLabels)
			o.ObserveFloat64(age, measured.age.Seconds(), tableLabels)
			o.ObserveFloat64(loss, max(0, (c.options.Coordinator.Retention-measured.lag).Hours()), tableLabels)
			o.ObserveInt64(leases, measured.leases, tableLabels)
			o.ObserveInt64(stopped, measured.stopped, tableLabels)
		}
		o.ObserveFloat64(forecast, s.Member.CallsPerMonth, noLabels)
		c.mu.Lock()
		bytes := c.queue.bytes
		c.mu.Unlock()
		o.ObserveInt64(prefetch, bytes, noLabels)
		isInContact := int64(0)
		if s.HeartbeatFresh {
			isInContact = 1
		}
		o.ObserveInt64(contact, isInContact, noLabels)
		// The status has 0 for both until they last about as long as a lease.
		o.ObserveFloat64(unwritten, max(s.CheckpointOverdueFor, s.TableUnreadFor).Seconds(), noLabels)
		if c.options.UnrepairedGaps != nil {
			o.ObserveInt64(unrepaired, c.options.UnrepairedGaps(), noLabels)
		}
		return nil
	}, lag, age, loss, leases, stopped, forecast, prefetch, contact, unwritten, unrepaired)
}

// tableMeasures holds the measurements of a table.
type tableMeasures struct {
	lag, age        time.Duration // values of the worst shard
	leases, stopped int64
}

// measureTables returns the measurements of each table, by table name.
func measureTables(s coordinator.Status, now time.Time, retention time.Duration) map[string]*tableMeasures {
	tables := make(map[string]*tableMeasures)
	tableOf := func(stream string) *tableMeasures {
		table := shardreader.StreamFromARN(stream).Table
		if tables[table] == nil {
			tables[table] = new(tableMeasures)
		}
		return tables[table]
	}
	for _, p := range s.Partitions {
		t := tableOf(p.Stream)
		t.leases++
		if p.StopReason != "" {
			t.stopped++
		}
		t.lag = max(t.lag, lagOf(p, now, retention))
		t.age = max(t.age, ageOf(p, now, retention))
	}
	for stream, unbegun := range s.UnbegunShards {
		tableOf(stream).stopped += int64(unbegun)
	}
	return tables
}

// Lag returns the greatest lag of the tables in s, a status of this consumer. The lag is the age of the oldest record
// that is not durable in every sink, as in the metric tablewake.reader.lag.
func (c *Consumer) Lag(s coordinator.Status) time.Duration {
	var lag time.Duration
	for _, v := range measureTables(s, time.Now(), c.options.Coordinator.Retention) {
		lag = max(lag, v.lag)
	}
	return lag
}

// lagOf returns the age of the oldest record of a shard that is not durable in every sink. It returns 0 if all records
// are read and durable.
func lagOf(p coordinator.PartitionStatus, now time.Time, retention time.Duration) time.Duration {
	if p.Pending > 0 && !p.OldestPending.IsZero() {
		return max(0, now.Sub(p.OldestPending))
	}
	return ageOf(p, now, retention)
}

// ageOf returns the age of the last record read if the shard may have newer records, else 0. If no record was read yet,
// it returns the retention, the worst case. A shard whose reading has only begun counts as read to its end.
func ageOf(p coordinator.PartitionStatus, now time.Time, retention time.Duration) time.Duration {
	isStopped := p.StopReason != ""
	hasOnlyBegun := !p.Opened && p.Failures < stuckFailures // too early to say that it is behind
	if !isStopped && (!p.Behind || hasOnlyBegun) {
		return 0
	}
	if p.LastDelivered.IsZero() {
		return retention
	}
	return max(0, now.Sub(p.LastDelivered))
}

// countCall counts a call of the Streams API.
func (t *telemetry) countCall(ctx context.Context, op string, err error) {
	t.calls.Add(ctx, 1, t.attributes(labels{{"operation", op}, {"outcome", outcome(err)}}))
}

// outcome returns the value of the attribute outcome for a call that returned err.
func outcome(err error) string {
	_, retryable := pipeline.Retryable(err)
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
	case retryable:
		return "transient"
	}
	return "error"
}

// countRecords counts the records of a page. page may be nil.
func (t *telemetry) countRecords(ctx context.Context, stream string, page *record.Page) {
	if page == nil || page.Len() == 0 {
		return
	}
	tableLabels := t.attributes(labels{{"table", shardreader.StreamFromARN(stream).Table}})
	t.records.Add(ctx, int64(page.Len()), tableLabels)
	t.bytes.Add(ctx, int64(page.Bytes), tableLabels)
}

// countGap counts a gap when it is found. It does not count the gap again when its end is found.
func (t *telemetry) countGap(ctx context.Context, g record.Gap) {
	if g.Before == "" {
		t.gaps.Add(ctx, 1, t.attributes(labels{{"table", shardreader.StreamFromARN(g.StreamARN).Table}}))
	}
}
