package target

import (
	"context"
	"fmt"
	"io"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/telemetry"
)

// telemetryTimeout limits the last export to a collector. ECS kills a task 30 s after SIGTERM. A soft stop takes up to
// 25 s of these, so that 5 s are left for the export.
const telemetryTimeout = 3 * time.Second

// StartTelemetry starts the export of spans and metrics that the environment and cfg configure. It prints their
// destination to log. EMF documents, which are metrics in log lines, go to emf; if emf is nil, there are none. The
// caller must call end, which exports the remaining data. If an export fails, end prints that, and the command does not
// fail.
func (f *Flags) StartTelemetry(
	ctx context.Context, cfg *config.Config, emf, log io.Writer, verbose bool,
) (end func(), err error) {
	metrics := cfg.Metrics
	if metrics == config.MetricsEMF && emf == nil {
		metrics = config.MetricsNone
	}
	f.Telemetry, err = telemetry.Start(ctx, telemetry.Options{
		Pipeline: cfg.Name, Metrics: metrics, Writer: emf, Logger: cli.NewWarnLogger(log, verbose),
		Patience: telemetryTimeout, Scrape: f.Scrape,
	})
	switch {
	case err != nil:
		return nil, err
	case f.Telemetry.Enabled():
		fmt.Fprintf(log, "telemetry: %s\n", f.Telemetry)
	case metrics == config.MetricsOTLP && f.Scrape == nil:
		fmt.Fprintf(log, "telemetry: %s has metrics: otlp, and none are exported: set OTEL_EXPORTER_OTLP_ENDPOINT\n",
			cfg.File)
	}
	return func() {
		if err := f.Telemetry.Shutdown(context.WithoutCancel(ctx)); err != nil {
			fmt.Fprintf(log, "telemetry: the last of it may be missing: %v\n", err)
		}
	}, nil
}

// LoadAWSWithTelemetry is [LoadAWS], except that tel traces and counts the calls. tel may be nil.
func LoadAWSWithTelemetry(ctx context.Context, tel *telemetry.Telemetry) (awssdk.Config, error) {
	sdk, err := LoadAWS(ctx)
	if err == nil && tel != nil {
		err = tel.AWS(&sdk)
	}
	return sdk, err
}
