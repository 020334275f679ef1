// Package cost counts the calls of a pipeline to AWS. It counts requests and the units that AWS bills, and estimates
// the cost in dollars.
//
// The middleware makes DynamoDB return the units that a request consumed. Other services bill by request and size. The
// units of a failed call are only partly known: see [Middleware].
package cost

import (
	"context"
	"errors"
	"regexp"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/tablewake/tablewake/pipeline/instrument"
)

// scope is the name of the instrumentation. The name of every metric starts with tablewake.aws.
const scope = "github.com/tablewake/tablewake/pipeline/telemetry/cost"

// counters has the metrics, and the price of each unit by service and unit.
type counters struct {
	pipeline attribute.KeyValue
	requests metric.Int64Counter
	units    metric.Float64Counter
	dollars  metric.Float64Counter
	price    map[[2]string]float64
}

// usage has the billed units of a call. The zero usage means that the call counts no units.
type usage struct {
	unit     string
	quantity float64
}

// Middleware returns an option that counts the calls of a client. Add the option to the APIOptions of the client, or to
// those of a configuration that clients are made from. The metrics are these:
//
//	tablewake.aws.requests   by service, operation and outcome (ok, or the error's code)
//	tablewake.aws.units      by service and unit, as in [Prices]
//	tablewake.aws.cost       dollars, by service
//
// The middleware sets ReturnConsumedCapacity to TOTAL in requests for items of DynamoDB, unless the caller has set it.
// A failed call counts no units, with one exception. DynamoDB bills a write whose condition is false like a successful
// write. The error of such a write does not name the units, so the middleware counts the smallest possible number.
func Middleware(pipeline string, m metric.MeterProvider) (func(*middleware.Stack) error, error) {
	c := &counters{pipeline: attribute.String("pipeline", pipeline), price: make(map[[2]string]float64)}
	for _, p := range Prices() {
		c.price[[2]string{p.Service, p.Unit}] = p.Dollars
	}
	k := instrument.New(m, scope)
	c.requests = k.Counter("tablewake.aws.requests", "{request}", "calls of AWS, by service, operation and outcome")
	c.units = k.FloatCounter("tablewake.aws.units", "{unit}", "units that calls of AWS are billed by, by service and unit")
	c.dollars = k.FloatCounter("tablewake.aws.cost", "{USD}",
		"estimate of what calls of AWS cost at the list prices of us-east-1, by service")
	if err := k.Err(); err != nil {
		return nil, err
	}
	return func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("tablewake.cost", c.handle), middleware.After)
	}, nil
}

func (c *counters) handle(
	ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
) (middleware.InitializeOutput, middleware.Metadata, error) {
	in.Parameters = withCapacity(in.Parameters)
	out, md, err := next.HandleInitialize(ctx, in)
	service := serviceOf(awsmiddleware.GetServiceID(ctx))
	op := awsmiddleware.GetOperationName(ctx)
	named := attribute.String("service", service)
	c.requests.Add(ctx, 1, metric.WithAttributes(c.pipeline, named, attribute.String("operation", op),
		attribute.String("outcome", outcomeOf(err))))
	var used usage
	if err == nil {
		used = usageOf(service, op, in.Parameters, out.Result)
	} else {
		used = usageOfFailed(in.Parameters, err)
	}
	if used.quantity > 0 {
		c.units.Add(ctx, used.quantity, metric.WithAttributes(c.pipeline, named, attribute.String("unit", used.unit)))
		c.dollars.Add(ctx, used.quantity*c.price[[2]string{service, used.unit}], metric.WithAttributes(c.pipeline, named))
	}
	return out, md, err
}

// serviceOf returns the name in [Prices] of the service that the SDK calls id. It returns "other" for a service without
// prices.
func serviceOf(id string) string {
	switch id {
	case "DynamoDB":
		return DynamoDB
	case "DynamoDB Streams":
		return Streams
	case "S3":
		return S3
	case "SQS":
		return SQS
	case "SNS":
		return SNS
	case "EventBridge":
		return EventBridge
	}
	return "other"
}

// outcomeOf returns "ok", or the code of the service's error. For an error without a valid code it returns "error",
// because other text may come from an item.
func outcomeOf(err error) string {
	if err == nil {
		return "ok"
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok && errorCode.MatchString(api.ErrorCode()) {
		return api.ErrorCode()
	}
	return "error"
}

// errorCode matches a text that can be a service's error code.
var errorCode = regexp.MustCompile(`^[A-Za-z0-9.]{1,64}$`)
