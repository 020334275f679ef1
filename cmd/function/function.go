package function

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/aws/aws-lambda-go/lambda"
	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go/logging"

	"github.com/tablewake/tablewake/cmd/internal/patience"
	"github.com/tablewake/tablewake/handlers"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/telemetry"
	"github.com/tablewake/tablewake/shardreader/sdk"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/aws"
	"github.com/tablewake/tablewake/sinks/state"
)

// commandVariable is the environment variable with the only command that the function accepts. If it is not set, the
// function runs the pipeline.
const commandVariable = "TABLEWAKE_COMMAND"

// newHandler opens everything that the function uses, and returns the handler of its events. Nothing is closed at the
// end, because Lambda ends the process without notice.
func newHandler(ctx context.Context, log *slog.Logger, exts []sinks.Extension) (lambda.Handler, error) {
	// Without this logger the SDK logs each connection that it retries.
	conf, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithLogger(logging.Nop{}))
	if err != nil {
		return nil, fmt.Errorf("AWS configuration: %w", err)
	}
	cfg, err := patience.Retry(ctx, log, "reading the configuration", nil,
		func() (*config.Config, error) { return loadConfig(ctx, conf, os.LookupEnv) })
	if err != nil {
		return nil, err
	}
	if err := cfg.CheckFunctionLetters(); err != nil {
		return nil, err
	}
	if len(cfg.NotLive) > 0 {
		return nil, cfg.NotLive
	}
	for _, w := range cfg.Warnings {
		log.WarnContext(ctx, "the configuration may surprise", slog.String("warning", w.String()))
	}
	tel, err := telemetry.Start(ctx, telemetry.Options{Pipeline: cfg.Name, Metrics: cfg.Metrics, Lambda: true,
		Logger: log})
	if err != nil {
		return nil, err
	}
	if err := tel.AWS(&conf); err != nil {
		return nil, err
	}
	var h lambda.Handler
	switch command := os.Getenv(commandVariable); command {
	case "":
		h, err = openPipeline(ctx, cfg, exts, conf, tel, log)
	case "audit":
		h, err = newAuditor(cfg, exts, conf, aws.Stores(conf, aws.WithLogger(log), aws.LookOnly()), tel.Meter, log)
	default:
		err = fmt.Errorf("%s=%s is not a command: write audit, or remove the variable from a function that reads a stream",
			commandVariable, command)
	}
	if err != nil {
		return nil, err
	}
	return withSpans(h, tel, log), nil
}

// openPipeline opens the pipeline and returns the handler that gives it the records of events.
func openPipeline(
	ctx context.Context, cfg *config.Config, exts []sinks.Extension, conf awssdk.Config, tel *telemetry.Telemetry,
	log *slog.Logger,
) (lambda.Handler, error) {
	stores := aws.Stores(conf, aws.WithLogger(log))
	p, err := patience.Retry(ctx, log, "opening what the sinks write to", nil, func() (*pipeline.Pipeline, error) {
		return sinks.Assemble(ctx, cfg, stores, sinks.WithExtensions(exts...), sinks.Live(), sinks.WithLogger(log),
			sinks.WithCommands("-c "+cfg.File+" --live"),
			sinks.WithTelemetry(tel.Tracer, tel.Meter), sinks.CountNoEntity(new(atomic.Int64)))
	})
	if err != nil {
		return nil, errors.Join(err, stores.Close())
	}
	opts, err := stateOptions(ctx, cfg, stores, p, log)
	if err != nil {
		return nil, errors.Join(err, stores.Close())
	}
	opts = append(opts,
		handlers.WithLogger(log),
		handlers.WithMeter(tel.Meter),
		handlers.WithStreams(sdk.New(dynamodbstreams.NewFromConfig(conf), sinks.Decoder(cfg))),
		handlers.WithObjects(objects{bucketClient(conf)}))
	return handlers.All(p, opts...), nil
}

// stateOptions opens the state and returns the options of a handler that use it. Gaps, which are lost records, are
// noted in the state. If redrives are automatic, stateOptions also opens the dead letters, and an event redrives them.
func stateOptions(
	ctx context.Context, cfg *config.Config, stores sinks.Stores, p *pipeline.Pipeline, log *slog.Logger,
) ([]handlers.Option, error) {
	var opts []handlers.Option
	store, err := patience.Retry(ctx, log, "opening the state", nil,
		func() (state.Store, error) { return stores.State(ctx, cfg) })
	if err != nil {
		return nil, err
	}
	if store != nil {
		opts = append(opts, handlers.WithGaps(store))
	}
	if d := cfg.DeadLetters; d != nil && d.AutoRedrive {
		redrive, err := patience.Retry(ctx, log, "opening the dead letters", nil,
			func() (func(context.Context) error, error) { return newRedriver(ctx, cfg, stores, p, log) })
		if err != nil {
			return nil, err
		}
		opts = append(opts, handlers.WithRedrive(redrive))
	}
	return opts, nil
}
