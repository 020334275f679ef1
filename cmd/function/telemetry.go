package function

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

// withSpans returns a handler that makes a span of each invocation of h. The handler exports all spans and metrics
// before its answer, because Lambda freezes the process after the answer, perhaps forever.
func withSpans(h lambda.Handler, tel *telemetry.Telemetry, log *slog.Logger) lambda.Handler {
	return flushingHandler{otellambda.WrapHandler(failureMarker{h},
		otellambda.WithTracerProvider(tel.Tracer),
		otellambda.WithPropagator(tel.Propagator),
		otellambda.WithEventToCarrier(xrayCarrier)), tel, log}
}

// xrayCarrier returns the trace of the invocation. It reads Lambda's environment variable, because events of streams
// carry no trace.
func xrayCarrier([]byte) propagation.TextMapCarrier {
	return propagation.MapCarrier{"X-Amzn-Trace-Id": os.Getenv("_X_AMZN_TRACE_ID")}
}

// failureMarker marks the span of a failed invocation.
type failureMarker struct{ lambda.Handler }

// Invoke implements [lambda.Handler].
func (m failureMarker) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	answer, err := m.Handler.Invoke(ctx, payload)
	if err != nil {
		trace.SpanFromContext(ctx).SetStatus(codes.Error, "")
	}
	return answer, err
}

// flushingHandler exports spans and metrics after each invocation.
type flushingHandler struct {
	lambda.Handler
	tel *telemetry.Telemetry
	log *slog.Logger
}

// Invoke implements [lambda.Handler].
func (f flushingHandler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	defer f.flush(ctx)
	return f.Handler.Invoke(ctx, payload)
}

// flush exports spans and metrics. It takes at most half of the invocation's remaining time, so that the invocation can
// still answer if the collector hangs.
func (f flushingHandler) flush(ctx context.Context) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
	}
	if err := f.tel.Flush(ctx); err != nil {
		f.log.Warn("spans or metrics of an invocation may be missing", slog.String("error", err.Error()))
	}
}
