package adopt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/records"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
)

// purgeOptions are the flags of `purge`.
type purgeOptions struct {
	records.Input
	format cli.Format
}

// NewPurge is the command purge.
func NewPurge(s cli.Streams) *cobra.Command {
	var o purgeOptions
	c := &cobra.Command{
		Use:   "purge -c FILE",
		Short: "Remove old tombstones of deleted documents",
		Long: `purge removes tombstones from the real search indexes of a configuration: those of documents that
were deleted longer ago than guard_retention (30 days by default). It removes each tombstone only
if it is unchanged. Changes older than guard_retention are refused, so no deleted document comes
back. In DynamoDB, TTL removes the tombstones. Embedded stores keep theirs. purge removes nothing
that an unfinished backfill of the sink still needs. Run it now and then, for example once a day.
The pipeline may run at the same time.`,
		Example: "  tablewake purge -c tablewake.yaml",
		Args:    cli.NoArguments,
		RunE:    func(c *cobra.Command, _ []string) error { return o.run(c.Context(), s) },
	}
	cli.AddConfig(c, &o.Config)
	cli.AddFormat(c, &o.format)
	return c
}

// purgeMargin is added to guard_retention, the time for which a tombstone is kept. The margin allows for changes in
// flight and for clock differences.
const purgeMargin = time.Hour

// purged is the output of `purge -o json`.
type purged struct {
	Before time.Time      `json:"before"`
	Sinks  map[string]int `json:"sinks"` // number of removed tombstones by sink
}

func (o *purgeOptions) run(ctx context.Context, s cli.Streams) (err error) {
	cfg, err := o.Load()
	if err != nil {
		return err
	}
	retention := sinks.GuardRetention(cfg)
	flags := target.Flags{Live: true}
	opened, err := flags.Open(ctx, cfg, s.Err, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	stateStore, err := opened.State(ctx, cfg)
	if err != nil {
		return err
	}
	result := purged{Before: time.Now().Add(-retention - purgeMargin).UTC().Truncate(time.Second), Sinks: map[string]int{}}
	for _, sink := range cfg.Sinks {
		purger, err := openPurger(ctx, cfg, opened, sink)
		if err != nil {
			return err
		}
		if purger == nil {
			continue
		}
		removed, err := purgeSink(ctx, stateStore, purger, sink.Name, result.Before)
		if err != nil {
			return err
		}
		result.Sinks[sink.Name] = removed
		if o.format == cli.FormatText {
			fmt.Fprintf(s.Out, "%s: %s from before %s removed\n", sink.Name,
				cli.Count(removed, "tombstone"), result.Before.Format(time.RFC3339))
		}
	}
	if o.format == cli.FormatJSON {
		return cli.WriteJSON(s.Out, result)
	}
	if len(result.Sinks) == 0 {
		fmt.Fprintln(s.Out, "no sink keeps tombstones that a purge removes")
	}
	return nil
}

// openPurger opens the store of a sink. It returns nil if the store keeps no tombstones that a purge removes.
func openPurger(
	ctx context.Context, cfg *config.Config, stores sinks.Stores, sink config.Sink,
) (state.Purger, error) {
	if sink.Search == nil {
		return nil, nil
	}
	store, err := stores.Search(ctx, cfg, sink)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", sink.Name, err)
	}
	purger, _ := store.(state.Purger)
	return purger, nil
}

// purgeSink removes the tombstones of a sink that are older than before, and returns their number. stateStore may be
// nil.
func purgeSink(
	ctx context.Context, stateStore state.Store, p state.Purger, sink string, before time.Time,
) (int, error) {
	if stateStore != nil {
		if err := state.CheckPurge(ctx, stateStore, sink, before); err != nil {
			return 0, err
		}
	}
	n, err := p.Purge(ctx, before)
	if err != nil {
		err = fmt.Errorf("%s: %w", sink, err)
	}
	return n, err
}
