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

// telemetryTimeout limits the last export to a collector. ECS kills a task 30 s after SIGTERM. This timeout and the 25
// s of a soft stop are less.
const telemetryTimeout = 3 * time.Second

// StartTelemetry starts spans and metrics by the environment and cfg, and prints their destination to log. EMF
// documents go to emf; if emf is nil there are none. The caller must call end, which exports the remaining data. A
// failure to export is printed, and does not fail the command.
func (t *Flags) StartTelemetry(
	ctx context.Context, cfg *config.Config, emf, log io.Writer, verbose bool,
) (end func(), err error) {
	metrics := cfg.Metrics
	if metrics == config.MetricsEMF && emf == nil {
		metrics = config.MetricsNone
	}
	t.Telemetry, err = telemetry.Start(ctx, telemetry.Options{
		Pipeline: cfg.Name, Metrics: metrics, Writer: emf, Logger: cli.NewWarnLogger(log, verbose),
		Patience: telemetryTimeout, Scrape: t.Scrape,
	})
	switch {
	case err != nil:
		return nil, err
	case t.Telemetry.Enabled():
		fmt.Fprintf(log, "telemetry: %s\n", t.Telemetry)
	case metrics == config.MetricsOTLP && t.Scrape == nil:
		fmt.Fprintf(log, "telemetry: %s has metrics: otlp, and none are exported: set OTEL_EXPORTER_OTLP_ENDPOINT\n",
			cfg.File)
	}
	return func() {
		if err := t.Telemetry.Shutdown(context.WithoutCancel(ctx)); err != nil {
			fmt.Fprintf(log, "telemetry: the last of it may be missing: %v\n", err)
		}
	}, nil
}

// LoadAWSWithTelemetry is [LoadAWS] with traces and metrics of the calls. tel may be nil.
func LoadAWSWithTelemetry(ctx context.Context, tel *telemetry.Telemetry) (awssdk.Config, error) {
	sdk, err := LoadAWS(ctx)
	if err == nil && tel != nil {
		err = tel.AWS(&sdk)
	}
	return sdk, err
}
