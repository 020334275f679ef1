package telemetry

import (
	"cmp"
	"context"
	"runtime/debug"
	"time"

	"go.opentelemetry.io/contrib/detectors/aws/ecs"
	"go.opentelemetry.io/contrib/detectors/aws/lambda"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
)

// detectTime is the maximum time for the request that gets the metadata of an ECS task.
const detectTime = time.Second

// detect describes the process: service.name and service.version, the function on Lambda, and the task on ECS. The
// attributes in OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override the detected ones. An attribute that cannot be
// detected is left out.
func detect(ctx context.Context, o Options) *resource.Resource {
	ctx, cancel := context.WithTimeout(ctx, detectTime)
	defer cancel()
	opts := []resource.Option{
		resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", o.Pipeline)),
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		o.Version = cmp.Or(o.Version, info.Main.Version)
	}
	if v := o.Version; v != "" {
		opts = append(opts, resource.WithAttributes(attribute.String("service.version", v)))
	}
	switch {
	case o.Environ("AWS_LAMBDA_FUNCTION_NAME") != "":
		opts = append(opts, resource.WithDetectors(plain{lambda.NewResourceDetector()}))
	case o.Environ("ECS_CONTAINER_METADATA_URI_V4") != "":
		opts = append(opts, resource.WithDetectors(plain{ecs.NewResourceDetector()}))
	}
	res, err := resource.New(ctx, append(opts, resource.WithFromEnv())...)
	if err != nil {
		o.Logger.DebugContext(ctx, "part of the resource is not known", "error", err)
	}
	return res
}

// plain removes the schema that a detector names. Two resources whose detectors name different versions of the schema
// could not be merged.
type plain struct{ resource.Detector }

func (p plain) Detect(ctx context.Context) (*resource.Resource, error) {
	r, err := p.Detector.Detect(ctx)
	if r == nil {
		return nil, err
	}
	return resource.NewSchemaless(r.Attributes()...), err
}
