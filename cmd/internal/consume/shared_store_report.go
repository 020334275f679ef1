package consume

import (
	"context"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/fleet"
	"github.com/tablewake/tablewake/cmd/internal/page"
	"github.com/tablewake/tablewake/cmd/internal/stream"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks"
)

const (
	sharedReadPause   = 5 * time.Second  // pause between two reads of the shared stores, while the page is open
	sharedReadTimeout = 20 * time.Second // timeout of one read of all of them
)

// newReportCache returns the reports on the stores that all consumers share. Each report has the leases, heartbeats,
// gaps, notes of consumers and stages of sinks. Unlike those of `status`, the reports do not list the shards of the
// stream, and do not count dead letters.
func (o *options) newReportCache(cfg *config.Config, r *resources) *page.ReportCache {
	var heartbeats stream.HeartbeatWatch
	return page.NewReportCache(sharedReadPause, redact.LogText, func(ctx context.Context) (*fleet.Report, error) {
		ctx, cancel := context.WithTimeout(ctx, sharedReadTimeout)
		defer cancel()
		obs := fleet.Observation{
			Pipeline: cfg.Name, Flags: o.CommandLine(cfg), Source: o.BackfillSource(cfg),
			RepairsGaps: cfg.Source.OnGap == config.OnGapRepair,
		}
		var err error
		if obs.Leases, err = r.table.Read(ctx); err != nil {
			return nil, err
		}
		obs.At = time.Now()
		obs.Silent = heartbeats.Observe(obs.Leases.Members, obs.At, stream.LeaseDuration(cfg))
		obs.Gaps, err = stream.Collect(r.gaps.Gaps(ctx))
		obs.AddReadFailure("gaps", err)
		r.readState(ctx, &obs)
		obs.LeftOut = sinks.BirthsMissingChanges(cfg, obs.Births)
		return new(obs.Report()), nil
	})
}

// readState reads the notes of consumers, and the stages of sinks: how far each sink is filled.
func (r *resources) readState(ctx context.Context, obs *fleet.Observation) {
	if r.state == nil {
		return
	}
	var err error
	obs.HeldBack, err = r.state.HeldBack(ctx)
	obs.AddReadFailure("what consumers note of sinks", err)
	obs.Births, err = stream.Collect(r.state.Births(ctx))
	obs.AddReadFailure("the stages of sinks", err)
	obs.Fills, err = fleet.ReadFills(ctx, r.state, obs.Births)
	obs.AddReadFailure("how far backfills are", err)
}
