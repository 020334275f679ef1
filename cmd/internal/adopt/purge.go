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
		Short: "Remove tombstones of documents that are of no more use",
		Long: `purge removes from the real search indexes of a configuration the tombstones of documents that
were deleted longer ago than guard_retention (30 days by default), each on condition that it is
unchanged. A change that is older than that is refused for its age, so that nothing comes
back. DynamoDB's tombstones go by their TTL, and embedded stores keep theirs. purge
removes nothing that an unfinished backfill of the sink still needs. Run it now and then, as
once a day; it may run beside a pipeline.`,
		Example: "  tablewake purge -c tablewake.yaml",
		Args:    cli.NoArguments,
		RunE:    func(c *cobra.Command, _ []string) error { return o.run(c.Context(), s) },
	}
	cli.AddConfig(c, &o.Config)
	cli.AddFormat(c, &o.format)
	return c
}

// purgeMargin is how much longer than guard_retention a tombstone is kept. The margin is for changes in flight and for
// clock differences.
const purgeMargin = time.Hour

// purged is the output of `purge -o json`.
type purged struct {
	Before time.Time      `json:"before"`
	Sinks  map[string]int `json:"sinks"` // removed tombstones by sink
}

func (o *purgeOptions) run(ctx context.Context, s cli.Streams) (err error) {
	cfg, err := o.Load()
	if err != nil {
		return err
	}
	keep := state.DefaultRetention
	if cfg.State != nil {
		keep = cfg.State.GuardRetention
	}
	t := target.Flags{Live: true}
	opened, err := t.Open(ctx, cfg, s.Err, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	kept, err := opened.State(ctx, cfg)
	if err != nil {
		return err
	}
	done := purged{Before: time.Now().Add(-keep - purgeMargin).UTC().Truncate(time.Second), Sinks: map[string]int{}}
	for _, sink := range cfg.Sinks {
		if sink.Search == nil {
			continue
		}
		store, err := opened.Search(ctx, cfg, sink)
		if err != nil {
			return fmt.Errorf("%s: %w", sink.Name, err)
		}
		p, ok := store.(state.Purger)
		if !ok {
			continue
		}
		if kept != nil {
			if err := state.CheckPurge(ctx, kept, sink.Name, done.Before); err != nil {
				return err
			}
		}
		if done.Sinks[sink.Name], err = p.Purge(ctx, done.Before); err != nil {
			return fmt.Errorf("%s: %w", sink.Name, err)
		}
		if o.format == cli.FormatText {
			fmt.Fprintf(s.Out, "%s: %s tombstones from before %s removed\n", sink.Name,
				cli.Thousands(int64(done.Sinks[sink.Name])), done.Before.Format(time.RFC3339))
		}
	}
	if o.format == cli.FormatJSON {
		return cli.WriteJSON(s.Out, done)
	}
	if len(done.Sinks) == 0 {
		fmt.Fprintln(s.Out, "no sink keeps tombstones that a purge removes")
	}
	return nil
}
