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

// telemetryPatience is how long the end of a command waits for a collector. With the 25 s
// of a stop it is below the 30 s after which ECS kills a task.
const telemetryPatience = 3 * time.Second

// StartTelemetry sets spans and metrics up as the environment and cfg say, and says on log
// where they go, if anywhere. Documents of EMF are written to emf; without one there are none.
// end exports what is left; that it cannot is said, and is no failure of the command.
func (t *Flags) StartTelemetry(ctx context.Context, cfg *config.Config, emf, log io.Writer, verbose bool) (end func(), err error) {
	metrics := cfg.Metrics
	if metrics == config.MetricsEMF && emf == nil {
		metrics = config.MetricsNone
	}
	t.Telemetry, err = telemetry.Start(ctx, telemetry.Options{
		Pipeline: cfg.Name, Metrics: metrics, Writer: emf, Logger: cli.Logger(log, verbose), Patience: telemetryPatience,
	})
	switch {
	case err != nil:
		return nil, err
	case t.Telemetry.Enabled():
		fmt.Fprintf(log, "telemetry: %s\n", t.Telemetry)
	case metrics == config.MetricsOTLP:
		fmt.Fprintf(log, "telemetry: %s has metrics: otlp, and none are exported: set OTEL_EXPORTER_OTLP_ENDPOINT\n", cfg.File)
	}
	return func() {
		if err := t.Telemetry.Shutdown(context.WithoutCancel(ctx)); err != nil {
			fmt.Fprintf(log, "telemetry: the last of it may be missing: %v\n", err)
		}
	}, nil
}

// LoadObserved is loadAWS, with calls traced and counted where tel is there.
func LoadObserved(ctx context.Context, tel *telemetry.Telemetry) (awssdk.Config, error) {
	sdk, err := LoadAWS(ctx)
	if err == nil && tel != nil {
		err = tel.AWS(&sdk)
	}
	return sdk, err
}
