package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"go.opentelemetry.io/contrib/instrumentation/github.com/aws/aws-lambda-go/otellambda"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/tablewake/tablewake/pipeline/telemetry"
)

// observed wraps a handler in a span of its invocation. It exports everything before the reply: Lambda
// freezes the process after it, perhaps for ever.
func observed(h lambda.Handler, tel *telemetry.Telemetry, log *slog.Logger) lambda.Handler {
	return flushing{otellambda.WrapHandler(marking{h},
		otellambda.WithTracerProvider(tel.Tracer),
		otellambda.WithPropagator(tel.Propagator),
		otellambda.WithEventToCarrier(xray)), tel, log}
}

// xray carries the trace of the invocation, as Lambda names it; events of streams have none.
func xray([]byte) propagation.TextMapCarrier {
	return propagation.MapCarrier{"X-Amzn-Trace-Id": os.Getenv("_X_AMZN_TRACE_ID")}
}

// marking marks the span of an invocation that failed.
type marking struct{ lambda.Handler }

// Invoke runs the handler.
func (m marking) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	answer, err := m.Handler.Invoke(ctx, payload)
	if err != nil {
		trace.SpanFromContext(ctx).SetStatus(codes.Error, "")
	}
	return answer, err
}

// flushing exports spans and metrics after each invocation.
type flushing struct {
	lambda.Handler
	tel *telemetry.Telemetry
	log *slog.Logger
}

// Invoke runs the handler.
func (f flushing) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	defer f.flush(ctx)
	return f.Handler.Invoke(ctx, payload)
}

// flush takes at most half of the time that the invocation has left, so that a collector that hangs does
// not cost the reply.
func (f flushing) flush(ctx context.Context) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
	}
	if err := f.tel.Flush(ctx); err != nil {
		f.log.Warn("spans or metrics of an invocation may be missing", slog.String("error", err.Error()))
	}
}
