package handlers

import (
	"context"
	"errors"
	"log/slog"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// scope names the instrumentation. Every metric is called tablewake.handler.*.
const scope = "github.com/tablewake/tablewake/handlers"

// telemetry tells OpenTelemetry what invocations come to.
type telemetry struct {
	invocations metric.Int64Counter
	records     metric.Int64Counter
	bytes       metric.Int64Counter
	cuts        metric.Int64Counter
	messages    metric.Int64Counter
	lost        metric.Int64Counter
	age         metric.Float64Gauge
	pipeline    attribute.KeyValue
	sets        map[[2]string]metric.MeasurementOption // by source and outcome
}

// The outcomes of invocations, of records, and of messages.
const (
	succeeded = "success"
	partly    = "partial"
	failed    = "failed"

	finished = "finished"
	returned = "returned"

	redriven = "redriven"
	gapNoted = "gap"
)

func newTelemetry(o *options, pipeline string) *telemetry {
	m := o.meter.Meter(scope)
	t := &telemetry{pipeline: attribute.String("pipeline", pipeline), sets: map[[2]string]metric.MeasurementOption{}}
	var errs [7]error
	t.invocations, errs[0] = m.Int64Counter("tablewake.handler.invocations", metric.WithUnit("{invocation}"),
		metric.WithDescription("invocations, by source and outcome: success, partial, failed"))
	t.records, errs[1] = m.Int64Counter("tablewake.handler.records", metric.WithUnit("{record}"),
		metric.WithDescription("records of streams' events, by source and outcome: finished, or returned for Lambda to bring again"))
	t.bytes, errs[2] = m.Int64Counter("tablewake.handler.bytes", metric.WithUnit("By"),
		metric.WithDescription("bytes of events, by source"))
	t.cuts, errs[3] = m.Int64Counter("tablewake.handler.cuts", metric.WithUnit("{invocation}"),
		metric.WithDescription("invocations that gave something back because their time was nearly over, by source"))
	t.messages, errs[4] = m.Int64Counter("tablewake.handler.messages", metric.WithUnit("{message}"),
		metric.WithDescription("messages of batches that Lambda gave up, by outcome: redriven, gap (records are lost, and that is noted), failed"))
	t.lost, errs[5] = m.Int64Counter("tablewake.handler.lost", metric.WithUnit("{record}"),
		metric.WithDescription("records of batches that Lambda gave up and that the stream keeps no more: data loss"))
	t.age, errs[6] = m.Float64Gauge("tablewake.handler.age", metric.WithUnit("s"),
		metric.WithDescription("age of the oldest record of an event when it arrived, by source"))
	if err := errors.Join(errs[:]...); err != nil {
		o.log.Error("metrics of the handler are incomplete", slog.String("error", err.Error()))
	}
	for _, from := range []origin{"", fromDynamoDB, fromKinesis, fromSQS, fromNobody} {
		for _, outcome := range []string{"", succeeded, partly, failed, finished, returned} {
			t.sets[[2]string{string(from), outcome}] = t.setOf(from, outcome)
		}
	}
	return t
}

// sources are the origins as metrics call them.
var sources = map[origin]string{fromDynamoDB: "dynamodb", fromKinesis: "kinesis", fromSQS: "sqs", fromNobody: "command"}

func (t *telemetry) setOf(from origin, outcome string) metric.MeasurementOption {
	source := sources[from]
	if source == "" {
		source = "other"
	}
	attrs := []attribute.KeyValue{t.pipeline, attribute.String("source", source)}
	if outcome != "" {
		attrs = append(attrs, attribute.String("outcome", outcome))
	}
	return metric.WithAttributeSet(attribute.NewSet(attrs...))
}

// set are the attributes of a source and an outcome.
func (t *telemetry) set(from origin, outcome string) metric.MeasurementOption {
	if set, ok := t.sets[[2]string{string(from), outcome}]; ok {
		return set
	}
	return t.sets[[2]string{"", outcome}]
}

// invoked tells of an invocation.
func (t *telemetry) invoked(ctx context.Context, from origin, a *answer, bytes int, err error) {
	outcome := succeeded
	switch {
	case err != nil || a.records > 0 && a.done == 0:
		outcome = failed
	case a.done < a.records:
		outcome = partly
	}
	t.invocations.Add(ctx, 1, t.set(from, outcome))
	t.bytes.Add(ctx, int64(bytes), t.set(from, ""))
	if a.cut {
		t.cuts.Add(ctx, 1, t.set(from, ""))
	}
	if from == fromSQS {
		return
	}
	if a.done > 0 {
		t.records.Add(ctx, int64(a.done), t.set(from, finished))
	}
	if a.done < a.records {
		t.records.Add(ctx, int64(a.records-a.done), t.set(from, returned))
	}
	if a.records > 0 {
		t.age.Record(ctx, a.age.Seconds(), t.set(from, ""))
	}
}

// message tells of one of SQS.
func (t *telemetry) message(ctx context.Context, outcome string, lost int) {
	t.messages.Add(ctx, 1, metric.WithAttributes(t.pipeline, attribute.String("outcome", outcome)))
	if lost > 0 {
		t.lost.Add(ctx, int64(lost), metric.WithAttributes(t.pipeline))
	}
}
