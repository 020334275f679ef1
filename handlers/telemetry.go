package handlers

import (
	"cmp"
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/tablewake/tablewake/pipeline/instrument"
)

// scope is the name of the instrumentation. The names of all metrics start with tablewake.handler.
const scope = "github.com/tablewake/tablewake/handlers"

// telemetry counts invocations and their results.
type telemetry struct {
	invocations   metric.Int64Counter
	records       metric.Int64Counter
	nacked        metric.Int64Counter
	bytes         metric.Int64Counter
	timeouts      metric.Int64Counter
	messages      metric.Int64Counter
	lostRecords   metric.Int64Counter
	age           metric.Float64Gauge
	pipeline      attribute.KeyValue
	attributeSets map[[2]string]metric.MeasurementOption // by source and outcome
}

// The outcomes of invocations and of messages.
const (
	succeeded = "success"
	partial   = "partial"
	failed    = "failed"

	redriven = "redriven"
	gapNoted = "gap"
)

func newTelemetry(o *options, pipeline string) *telemetry {
	instruments := instrument.New(o.meter, scope)
	t := &telemetry{
		invocations: instruments.Counter("tablewake.handler.invocations", "{invocation}",
			"invocations, by source and outcome: success, partial, failed"),
		records: instruments.Counter("tablewake.handler.records", "{record}", "records of streams' events, by source"),
		nacked: instruments.Counter("tablewake.handler.returned", "{record}",
			"records that were given back for Lambda to bring again, by source"),
		bytes: instruments.Counter("tablewake.handler.bytes", "By", "bytes of events, by source"),
		timeouts: instruments.Counter("tablewake.handler.cuts", "{invocation}",
			"invocations that gave something back because their time was nearly over, by source"),
		messages: instruments.Counter("tablewake.handler.messages", "{message}",
			"messages of batches that Lambda gave up, by outcome: redriven, gap (records are lost, and that is noted), failed"),
		lostRecords: instruments.Counter("tablewake.handler.lost", "{record}",
			"records, about, of batches that Lambda gave up and that the stream keeps no more: data loss"),
		age:           instruments.Gauge("tablewake.handler.age", "s", "age of the oldest record of an event when it arrived, by source"),
		pipeline:      attribute.String("pipeline", pipeline),
		attributeSets: map[[2]string]metric.MeasurementOption{},
	}
	if err := instruments.Err(); err != nil {
		o.log.Error("metrics of the handler are incomplete", slog.String("error", err.Error()))
	}
	for _, from := range []origin{"", fromDynamoDB, fromKinesis, fromSQS, fromCommand} {
		for _, outcome := range []string{"", succeeded, partial, failed} {
			t.attributeSets[[2]string{string(from), outcome}] = t.newAttributeSet(from, outcome)
		}
	}
	return t
}

// sources maps origins to the values of the attribute source.
var sources = map[origin]string{fromDynamoDB: "dynamodb", fromKinesis: "kinesis", fromSQS: "sqs",
	fromCommand: "command"}

func (t *telemetry) newAttributeSet(from origin, outcome string) metric.MeasurementOption {
	attrs := []attribute.KeyValue{t.pipeline, attribute.String("source", cmp.Or(sources[from], "other"))}
	if outcome != "" {
		attrs = append(attrs, attribute.String("outcome", outcome))
	}
	return metric.WithAttributeSet(attribute.NewSet(attrs...))
}

// attributes returns the attributes for an origin and an outcome.
func (t *telemetry) attributes(from origin, outcome string) metric.MeasurementOption {
	if set, ok := t.attributeSets[[2]string{string(from), outcome}]; ok {
		return set
	}
	return t.attributeSets[[2]string{"", outcome}]
}

// countInvocation counts an invocation.
func (t *telemetry) countInvocation(ctx context.Context, from origin, a *answer, bytes int, err error) {
	outcome := succeeded
	switch {
	case err != nil || a.records > 0 && a.nackedCount == a.records:
		outcome = failed
	case a.nackedCount > 0:
		outcome = partial
	}
	t.invocations.Add(ctx, 1, t.attributes(from, outcome))
	t.bytes.Add(ctx, int64(bytes), t.attributes(from, ""))
	if a.timedOut {
		t.timeouts.Add(ctx, 1, t.attributes(from, ""))
	}
	if from == fromSQS {
		return
	}
	if a.nackedCount > 0 {
		t.nacked.Add(ctx, int64(a.nackedCount), t.attributes(from, ""))
	}
	if a.records > 0 {
		t.records.Add(ctx, int64(a.records), t.attributes(from, ""))
		t.age.Record(ctx, a.oldestAge.Seconds(), t.attributes(from, ""))
	}
}

// countMessage counts a message of SQS.
func (t *telemetry) countMessage(ctx context.Context, outcome string, lost int) {
	t.messages.Add(ctx, 1, metric.WithAttributes(t.pipeline, attribute.String("outcome", outcome)))
	if lost > 0 {
		t.lostRecords.Add(ctx, int64(lost), metric.WithAttributes(t.pipeline))
	}
}
