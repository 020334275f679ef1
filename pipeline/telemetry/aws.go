package telemetry

import (
	"context"
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

// AWS has all clients that are made of sdk from here on traced and counted: a span for each
// call that is made within one, with the headers of the propagators on the request, and
// the metrics of [cost.Middleware]. A call outside of any span gets none, or a shard that is
// polled would be a trace every second.
//
// The spans show the service, operation, Region, status, request id, table names and the
// type of an error; never keys, expressions, values, names of objects, or the text of an
// error, in which services quote items.
func (t *Telemetry) AWS(sdk *awssdk.Config) error {
	if t.traces != nowhere {
		otelaws.AppendMiddlewares(&sdk.APIOptions,
			otelaws.WithTracerProvider(quietProvider{t.Tracer}),
			otelaws.WithTextMapPropagator(t.Propagator),
			otelaws.WithAttributeBuilder(tableNames)) // in place of the default, which shows object keys
	}
	if t.metrics == nowhere {
		return nil
	}
	count, err := cost.Middleware(t.pipeline, t.Meter)
	if err == nil {
		sdk.APIOptions = append(sdk.APIOptions, count)
	}
	return err
}

// tableNames is all that is shown of a request.
func tableNames(ctx context.Context, in middleware.InitializeInput, _ middleware.InitializeOutput) []attribute.KeyValue {
	if awsmiddleware.GetServiceID(ctx) != dynamodb.ServiceID {
		return nil
	}
	var names []string
	add := func(name *string) {
		if name != nil {
			names = append(names, *name)
		}
	}
	switch in := in.Parameters.(type) {
	case *dynamodb.GetItemInput:
		add(in.TableName)
	case *dynamodb.PutItemInput:
		add(in.TableName)
	case *dynamodb.UpdateItemInput:
		add(in.TableName)
	case *dynamodb.DeleteItemInput:
		add(in.TableName)
	case *dynamodb.QueryInput:
		add(in.TableName)
	case *dynamodb.ScanInput:
		add(in.TableName)
	case *dynamodb.DescribeTableInput:
		add(in.TableName)
	case *dynamodb.BatchGetItemInput:
		for name := range in.RequestItems {
			add(&name)
		}
	case *dynamodb.BatchWriteItemInput:
		for name := range in.RequestItems {
			add(&name)
		}
	}
	if names == nil {
		return nil
	}
	slices.Sort(names)
	return []attribute.KeyValue{attribute.StringSlice("aws.dynamodb.table_names", names)}
}

// quietProvider makes tracers for code that shows what an error says.
type quietProvider struct{ trace.TracerProvider }

func (p quietProvider) Tracer(name string, opts ...trace.TracerOption) trace.Tracer {
	return quietTracer{p.TracerProvider.Tracer(name, opts...)}
}

type quietTracer struct{ trace.Tracer }

// Start starts a span where one is under way.
func (t quietTracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return tracenoop.NewTracerProvider().Tracer("").Start(ctx, name)
	}
	ctx, span := t.Tracer.Start(ctx, name, opts...)
	quiet := quietSpan{span}
	return trace.ContextWithSpan(ctx, quiet), quiet
}

// quietSpan keeps the texts of errors to itself: services quote items in them.
type quietSpan struct{ trace.Span }

func (s quietSpan) SetStatus(code codes.Code, _ string) { s.Span.SetStatus(code, "") }

func (s quietSpan) RecordError(error, ...trace.EventOption) {}
