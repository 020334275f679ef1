package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// leasesOptions are the flags of `leases` and its subcommands.
type leasesOptions struct {
	config string
	target.Flags
	dryRun bool
	skip   bool
	to     string
	format cli.Format
}

// NewLeases is the command leases.
func NewLeases(s cli.Streams) *cobra.Command {
	var o leasesOptions
	c := &cobra.Command{
		Use:   "leases list | release | reset | pin | unpin",
		Short: "Show the leases of shards, and change them by hand",
		Long: `leases shows which consumer reads which shard and from where, and changes it. Every change is a
conditional write, like those of the consumers. If a consumer owned the lease meanwhile, it loses
the lease and stops writing. --dry-run shows what would be written, and what follows from it.
Consumers may run at the same time.`,
		Example: `  tablewake leases list -c tablewake.yaml --live
  tablewake leases release -c tablewake.yaml --live shardId-00000001760000000000-abcdef01 --dry-run
  tablewake leases reset -c tablewake.yaml --live shardId-00000001760000000000-abcdef01 --to trim_horizon
  tablewake leases pin -c tablewake.yaml --live shardId-00000001760000000000-abcdef01 task-large`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.Usagef("leases has no subcommand %q: list, release, reset, pin or unpin", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	f := c.PersistentFlags()
	f.StringVarP(&o.config, "config", "c", "", "the configuration (required)")
	_ = c.MarkPersistentFlagFilename("config", "yaml", "yml")
	o.AddPersistent(c, "the folder that a consumer works on")
	c.AddCommand(o.newList(s))
	for _, edit := range []*cobra.Command{o.newRelease(s), o.newReset(s), o.newPin(s), o.newUnpin(s)} {
		edit.Flags().BoolVar(&o.dryRun, "dry-run", false, "show what would be written and what follows from it, and write nothing")
		c.AddCommand(edit)
	}
	return c
}

func (o *leasesOptions) newList(s cli.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:     "list -c FILE (--live | --local DIR)",
		Short:   "List the leases as they are stored",
		Example: "  tablewake leases list -c tablewake.yaml --live -o json",
		Args:    cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			shared, err := o.open(c.Context(), s, inspectLeases)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, shared.Close()) }()
			snapshot, err := shared.readLeases(c.Context())
			if err != nil {
				return err
			}
			return o.list(s.Out, snapshot)
		},
	}
	cli.AddFormat(c, &o.format)
	return c
}

func (o *leasesOptions) newRelease(s cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "release -c FILE (--live | --local DIR) SHARD...",
		Short: "Take leases from their owners, so that any consumer can take them",
		Long: `release takes leases from their owners, for example from a consumer that hangs. The owner drops the
work in progress. The next owner continues after the last checkpoint.`,
		Example: "  tablewake leases release -c tablewake.yaml --live shardId-00000001760000000000-abcdef01",
		Args:    shardArguments("name the shards whose leases are to be released"),
		RunE: func(c *cobra.Command, args []string) error {
			return o.editLeases(c.Context(), s, args, releaseLease)
		},
	}
}

func (o *leasesOptions) newReset(s cli.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "reset -c FILE (--live | --local DIR) SHARD... --to POSITION",
		Short: "Change the position from which shards are read",
		Long: `reset changes the position from which a shard is read. trim_horizon is the oldest record that the
stream still has. latest is the newest one. A time is the first record written then or later. A
sequence number is the record after that one. end skips the rest of the shard, and continues with
its children. If the shard has no lease, reset creates one.

Use it for a shard that stopped at a gap (--to trim_horizon), or that disappeared before it was read
to its end (--to end --skip). Records that are read again do not change views, aggregates or
indexes. Archives and notifications get them once more. A position after unread records is
refused, unless --skip says that you want to lose them. They are then noted as a gap first.`,
		Example: `  tablewake leases reset -c tablewake.yaml --live shardId-00000001760000000000-abcdef01 --to trim_horizon
  tablewake leases reset -c tablewake.yaml --live shardId-00000001760000000000-abcdef01 --to 2026-01-31T12:00:00Z --dry-run`,
		Args: shardArguments("name the shards that are to be read from another position"),
		RunE: func(c *cobra.Command, args []string) error {
			to, err := parsePosition(o.to)
			if err != nil {
				return cli.Usagef("--to %q: %w", o.to, err)
			}
			return o.editLeases(c.Context(), s, args, func(l leases.Lease) (leaseEdit, error) {
				return resetLease(l, to, o.skip, time.Now())
			})
		},
	}
	c.Flags().StringVar(&o.to, "to", "",
		"trim_horizon, latest, end, a time such as 2026-01-31T12:00:00Z, or a sequence number (required)")
	c.Flags().BoolVar(&o.skip, "skip", false, "skip records that nobody has read")
	return c
}

func (o *leasesOptions) newPin(s cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "pin -c FILE (--live | --local DIR) SHARD NAME",
		Short: "Let only the consumers of one name read a shard",
		Long: `pin lets only the consumers of one name (consume --worker NAME) read a shard, as long as one of them
is alive. Another owner hands the shard over after it has finished its work: nothing is read twice.`,
		Example: "  tablewake leases pin -c tablewake.yaml --live shardId-00000001760000000000-abcdef01 task-large",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 || args[1] == "" {
				return cli.Usagef("name a shard, and the consumers that are to read it; see `%s --help`", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return o.editLeases(c.Context(), s, args[:1],
				func(l leases.Lease) (leaseEdit, error) { return pinLease(l, args[1]) })
		},
	}
}

func (o *leasesOptions) newUnpin(s cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:     "unpin -c FILE (--live | --local DIR) SHARD...",
		Short:   "Let any consumer read the shards again",
		Example: "  tablewake leases unpin -c tablewake.yaml --live shardId-00000001760000000000-abcdef01",
		Args:    shardArguments("name the shards to unpin"),
		RunE: func(c *cobra.Command, args []string) error {
			return o.editLeases(c.Context(), s, args, func(l leases.Lease) (leaseEdit, error) { return pinLease(l, "") })
		},
	}
}

func shardArguments(hint string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cli.Usagef("%s; see `%s --help`", hint, c.CommandPath())
		}
		return nil
	}
}

func (o *leasesOptions) open(ctx context.Context, s cli.Streams, access leaseAccess) (*sharedStores, error) {
	cfg, err := o.LoadConfig(o.config)
	if err != nil {
		return nil, err
	}
	o.ReadOnly = true
	return openStores(ctx, &o.Flags, cfg, s.Err, access)
}

// leasePlan returns the edit of a lease.
type leasePlan func(leases.Lease) (leaseEdit, error)

// editLeases plans and writes the changes of the shards' leases, one after the other. If the change of one of them is
// refused, it writes none.
func (o *leasesOptions) editLeases(ctx context.Context, s cli.Streams, shards []string, plan leasePlan) (err error) {
	shared, err := o.open(ctx, s, cli.Choose(o.dryRun, inspectLeases, changeLeases))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shared.Close()) }()
	snapshot, err := shared.readLeases(ctx)
	if err != nil {
		return err
	}
	edits := make([]leaseEdit, len(shards))
	for i, shard := range shards {
		if edits[i], err = o.planEdit(ctx, shared, snapshot, shard, plan); err != nil {
			return err
		}
	}
	for _, e := range edits {
		if !o.dryRun {
			if e, err = applyEdit(ctx, shared, e, plan); err != nil {
				return err
			}
		}
		o.printEdit(s.Out, e)
	}
	return nil
}

// planEdit plans the change of one shard's lease. Only a reset creates a lease that does not exist.
func (o *leasesOptions) planEdit(
	ctx context.Context, shared *sharedStores, snapshot leases.Snapshot, shard string, plan leasePlan,
) (leaseEdit, error) {
	for _, b := range snapshot.DamagedLeases {
		if b.Shard == shard {
			return leaseEdit{}, fmt.Errorf(
				"the lease of shard %s cannot be read (%s): restore the row, or correct it by hand", shard, b.Reason)
		}
	}
	for _, l := range snapshot.Leases {
		if l.Shard == shard {
			return plan(l)
		}
	}
	if isReset := o.to != ""; isReset {
		return planCreation(ctx, shared, shard, snapshot, plan)
	}
	return leaseEdit{}, fmt.Errorf("shard %s has no lease: `tablewake leases list %s` shows those that there are", shard,
		o.CommandLine(shared.cfg))
}

// printEdit prints the change of a lease and its effects.
func (o *leasesOptions) printEdit(w io.Writer, e leaseEdit) {
	dryRun := cli.Choose(o.dryRun, " (dry run: nothing is written)", "")
	if !e.Changes() {
		fmt.Fprintf(w, "%s: unchanged: it is like that already\n", e.Old.Shard)
		return
	}
	fmt.Fprintf(w, "%s:%s\n  before: %s\n  after:  %s\n", e.Old.Shard, dryRun,
		cli.Choose(e.Creates, "no lease", leaseText(e.Old)), leaseText(e.Next))
	for _, effect := range e.Effects {
		fmt.Fprintf(w, "  %s\n", effect)
	}
}

// leaseText describes the attributes of a lease that an edit can change.
func leaseText(l leases.Lease) string {
	parts := []string{cli.Choose(l.Owner == "", "free", "owner "+l.Owner), "counter " + fmt.Sprint(l.Counter),
		"checkpoint " + l.Checkpoint.String()}
	if !l.From.IsZero() {
		parts = append(parts, "from "+l.From.UTC().Format(time.RFC3339))
	}
	if l.Pinned != "" {
		parts = append(parts, "pinned to "+l.Pinned)
	}
	if l.Stopped != "" {
		parts = append(parts, "stopped: "+l.Stopped)
	}
	return strings.Join(parts, ", ")
}

// list prints the leases.
func (o *leasesOptions) list(w io.Writer, snapshot leases.Snapshot) error {
	if o.format == cli.FormatJSON {
		return cli.WriteJSON(w, leasesJSON(snapshot))
	}
	if len(snapshot.Leases)+len(snapshot.DamagedLeases) == 0 {
		_, err := fmt.Fprintln(w, "there are no leases yet")
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "SHARD\tOWNER\tCOUNTER\tCHECKPOINT\tPINNED")
	for _, l := range snapshot.Leases {
		fmt.Fprintf(tw, "%s\t%s\t%d\t%s\t%s\n", l.Shard, cmp.Or(l.Owner, "-"), l.Counter, l.Checkpoint,
			cmp.Or(l.Pinned, "-"))
	}
	for _, b := range snapshot.DamagedLeases {
		fmt.Fprintf(tw, "%s\tCANNOT BE READ: %s\n", b.Shard, b.Reason)
	}
	return tw.Flush()
}

// leasesJSON returns the leases of a snapshot, and after them the damaged ones.
func leasesJSON(snapshot leases.Snapshot) []leaseJSON {
	all := []leaseJSON{}
	for _, l := range snapshot.Leases {
		all = append(all, leaseJSON{
			Shard: l.Shard, Stream: l.Stream, Owner: l.Owner, Counter: l.Counter, Checkpoint: l.Checkpoint.String(),
			Parents: append([]string{}, l.Parents...), Children: append([]string{}, l.Children...),
			Wanted: l.RequestedBy, Pinned: l.Pinned, Stopped: l.Stopped, From: cli.OptionalTime(l.From),
			LastRecord: cli.OptionalTime(l.Time),
		})
	}
	for _, b := range snapshot.DamagedLeases {
		all = append(all, leaseJSON{Shard: b.Shard, Broken: b.Reason, Parents: []string{}, Children: []string{}})
	}
	return all
}

// leaseJSON is a lease as `leases list -o json` prints it.
type leaseJSON struct {
	Shard      string     `json:"shard"`
	Stream     string     `json:"stream,omitempty"`
	Owner      string     `json:"owner"`
	Counter    int64      `json:"counter"`
	Checkpoint string     `json:"checkpoint"`
	Parents    []string   `json:"parents"`
	Children   []string   `json:"children"`
	From       *time.Time `json:"from,omitempty"`        // older records are skipped
	LastRecord *time.Time `json:"last_record,omitempty"` // creation time of the record at the checkpoint
	Wanted     string     `json:"wanted,omitempty"`
	Pinned     string     `json:"pinned,omitempty"`
	Stopped    string     `json:"stopped,omitempty"` // reason why the reading of the shard is stopped
	// Broken is the reason why the row cannot be read. In that case all other fields except shard are empty
	Broken string `json:"broken,omitempty"`
}
