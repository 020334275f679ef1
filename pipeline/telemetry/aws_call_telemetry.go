package telemetry

import (
	"context"
	"maps"
	"reflect"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	"go.opentelemetry.io/contrib/instrumentation/github.com/aws/aws-sdk-go-v2/otelaws"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/tablewake/tablewake/pipeline/telemetry/cost"
)

// AWS adds middleware to sdk that traces and counts the calls of all clients made from sdk afterwards. A call within a
// span gets a span of its own, and its request gets the headers of the propagators. A call outside of any span gets no
// span, because polling a shard would otherwise make a trace every second. [cost.Middleware] defines the metrics.
//
// The spans show the service, operation, Region, status, request id, table names and the type of an error. They never
// show keys, expressions, values or names of objects. They do not show the text of an error either, because services
// quote items in it.
func (t *Telemetry) AWS(sdk *awssdk.Config) error {
	if t.traces != nowhere {
		otelaws.AppendMiddlewares(&sdk.APIOptions,
			otelaws.WithTracerProvider(quietProvider{t.Tracer}),
			otelaws.WithTextMapPropagator(t.Propagator),
			otelaws.WithAttributeBuilder(tableNames)) // replaces the default, which shows object keys
	}
	if !t.measured {
		return nil
	}
	count, err := cost.Middleware(t.pipeline, t.Meter)
	if err == nil {
		sdk.APIOptions = append(sdk.APIOptions, count)
	}
	return err
}

// tableNames returns the tables of a request. Spans show nothing else from the parameters of a request.
func tableNames(
	ctx context.Context, in middleware.InitializeInput, _ middleware.InitializeOutput,
) []attribute.KeyValue {
	if awsmiddleware.GetServiceID(ctx) != dynamodb.ServiceID {
		return nil
	}
	var names []string
	switch in := in.Parameters.(type) {
	case *dynamodb.GetItemInput, *dynamodb.PutItemInput, *dynamodb.UpdateItemInput, *dynamodb.DeleteItemInput,
		*dynamodb.QueryInput, *dynamodb.ScanInput, *dynamodb.DescribeTableInput:
		if name := reflect.ValueOf(in).Elem().FieldByName("TableName"); !name.IsNil() {
			names = []string{name.Elem().String()}
		}
	case *dynamodb.BatchGetItemInput:
		names = slices.Sorted(maps.Keys(in.RequestItems))
	case *dynamodb.BatchWriteItemInput:
		names = slices.Sorted(maps.Keys(in.RequestItems))
	}
	if names == nil {
		return nil
	}
	return []attribute.KeyValue{attribute.StringSlice("aws.dynamodb.table_names", names)}
}

// quietProvider makes tracers whose spans do not record the texts of errors.
type quietProvider struct{ trace.TracerProvider }

func (p quietProvider) Tracer(name string, opts ...trace.TracerOption) trace.Tracer {
	return quietTracer{p.TracerProvider.Tracer(name, opts...)}
}

type quietTracer struct{ trace.Tracer }

// Start starts a span if ctx has one.
func (t quietTracer) Start(
	ctx context.Context, name string, opts ...trace.SpanStartOption,
) (context.Context, trace.Span) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return tracenoop.NewTracerProvider().Tracer("").Start(ctx, name)
	}
	ctx, span := t.Tracer.Start(ctx, name, opts...)
	quiet := quietSpan{span}
	return trace.ContextWithSpan(ctx, quiet), quiet
}

// quietSpan drops the texts of errors, because services quote items in them.
type quietSpan struct{ trace.Span }

func (s quietSpan) SetStatus(code codes.Code, _ string) { s.Span.SetStatus(code, "") }

func (s quietSpan) RecordError(error, ...trace.EventOption) {}
