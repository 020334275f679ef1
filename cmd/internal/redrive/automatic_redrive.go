package redrive

import (
	"context"
	"io"
	"sync"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/letters"
	"github.com/tablewake/tablewake/cmd/internal/records"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/redrive"
)

// Auto is the automatic redrive (dead_letters.redrive: auto). It delivers the dead letters of outages during a run, and
// once more after the run.
type Auto struct {
	options redrive.Options
	stop    context.CancelFunc
	running sync.WaitGroup
	err     error // error of the redrive during the run
}

// StartAuto starts the automatic redrive for a run of p. It returns nil, whose Finish does nothing, if cfg does not
// enable the redrive.
func StartAuto(
	ctx context.Context, in *records.Input, cfg *config.Config, opened sinks.Stores, p *pipeline.Pipeline, log io.Writer,
	verbose bool,
) (*Auto, error) {
	if cfg.DeadLetters == nil || !cfg.DeadLetters.AutoRedrive {
		return nil, nil
	}
	store, err := letters.Open(ctx, cfg, opened)
	if err != nil {
		return nil, err
	}
	a := &Auto{}
	if a.options, err = redriveOptions(ctx, in, cfg, opened, store, p); err != nil {
		return nil, err
	}
	runCtx, stop := context.WithCancel(ctx)
	a.stop = stop
	a.running.Go(func() {
		a.err = redrive.Auto(runCtx, redrive.AutoOptions{Options: a.options, Logger: cli.NewWarnLogger(log, verbose)})
	})
	return a, nil
}

// Finish stops the redrive of the run. Then it tries each remaining letter of an outage once. A letter that fails again
// stays for the next run or for `tablewake redrive`.
func (a *Auto) Finish(ctx context.Context) error {
	if a == nil {
		return nil
	}
	a.stop()
	a.running.Wait()
	if a.err != nil || ctx.Err() != nil {
		return a.err
	}
	o := a.options
	o.Classes, o.Attempts = redrive.OutageClasses(), 1
	_, err := redrive.Run(ctx, o)
	return err
}
